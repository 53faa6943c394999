// How fast a workload runs here, beside what the machine can do at best.
#pragma once

#include <string>
#include <vector>

#include "bench_peak.h"
#include "bench_workload.h"
#include "headwise/run/executor.h"

namespace headwise::cli {

struct BenchResult {
  std::string workload;
  std::string cpu;  // as the system calls it
  std::string target;
  std::size_t threads;
  Arithmetic arithmetic;
  // Of one run: processor time with one thread, else the clock on the wall.
  double seconds_min;
  double seconds_median;
  double gflops;       // at the median
  double peak_gflops;  // of the arithmetic: the median of the rounds
  // The median over the rounds of the rate over the peak of the same round.
  double peak_fraction;
  double read_gb_s;  // the median of the rounds
};

double median(std::vector<double> values);

// Warms up, then `rounds` times: the peak, runs that fill a slice, the peak
// again (a round's peak is the mean of the two), the memory. Errors: those of
// the library, out_of_memory.
Result<BenchResult> measure(const Workload& workload, const Executor& executor,
                            const PeakMeter& peak, std::size_t rounds);

}  // namespace headwise::cli
