// Every NaN that headwise computes has the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI {

// x, or kNaN for any NaN.
inline float one_nan(float x) { return std::isnan(x) ? kNaN : x; }
// The same of each element.
inline void unify_nans(std::span<float> values) {
  std::ranges::transform(values, values.begin(), one_nan);
}

}  // namespace headwise::inline HEADWISE_ABI
