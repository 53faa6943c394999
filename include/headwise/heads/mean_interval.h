// The mean of numbers, one for each text or example, and the interval that
// holds the mean over all such texts with a probability of 95%, by Student's t
// distribution: mean +- t s / sqrt(n), with the sample's standard deviation s
// and the quantile t of n - 1 degrees of freedom.
//
// Source: Student 1908, Biometrika 6(1).
//
// Example:
//   MeanInterval share = mean_interval(std::array{0.4, 0.5, 0.6});
//   share.low;  // 0.252
#pragma once

#include <cstddef>
#include <span>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct MeanInterval {
  std::size_t count = 0;  // of the numbers, without NaN
  // NaN without a number; low and high also with only one.
  double mean = 0;
  double low = 0;
  double high = 0;
};

// NaN among the values is left out: a text that the number does not apply to.
MeanInterval mean_interval(std::span<const double> values);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
