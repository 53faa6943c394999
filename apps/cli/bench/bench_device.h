// How fast a workload runs on the GPU.
#pragma once

#include <string>

#include "bench_workload.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"

namespace headwise::cli {

struct DeviceBenchResult {
  std::string workload;
  std::string gpu;  // as its maker calls it
  DType dtype;
  double seconds_min;  // of one run, by the clock on the wall
  double seconds_median;
  double gflops;  // at the median
};

// Warms up, then `rounds` times as many runs as fill a slice, put into the
// stream one behind the other. `dtype`: bfloat16 or float16. Errors:
// unsupported, for a workload of the layer, too; those of the library.
Result<DeviceBenchResult> measure_on_device(const Workload& workload,
                                            DType dtype, std::size_t rounds);

}  // namespace headwise::cli
