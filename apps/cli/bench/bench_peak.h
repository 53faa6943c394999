// The machine's own best, taken beside the measurements: floating-point
// operations in registers and memory that is read. Each thread's time is its
// own processor time, so that whoever else runs here does not count.
#pragma once

#include <cstddef>
#include <functional>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"

namespace headwise::cli {

// Seconds of this thread, of all threads of this process, and of the clock on
// the wall.
double thread_seconds();
double process_seconds();
double wall_seconds();

// A slice of a measurement lasts at least this long.
inline constexpr double kSliceSeconds = 0.02;

class PeakMeter {
 public:
  // Errors: out_of_memory.
  static Result<PeakMeter> create(std::size_t threads);

  double fma_gflops() const;   // of all the threads together
  double bf16_gflops() const;  // of products of bfloat16
  double read_gb_s() const;    // 10^9 bytes a second

  // The peak of what is multiplied by this arithmetic.
  double gflops(Arithmetic arithmetic) const {
    return arithmetic == Arithmetic::bf16 ? bf16_gflops() : fma_gflops();
  }

 private:
  PeakMeter(std::size_t threads, Tensor<float, 1> memory);

  // work(thread) says how much it did; the sum of the threads' rates.
  double sum_of_rates(const std::function<double(std::size_t)>& work) const;

  std::size_t threads_;
  std::size_t fma_turns_;  // that fill a slice
  std::size_t bf16_turns_;
  Tensor<float, 1> memory_;  // far larger than the caches
};

}  // namespace headwise::cli
