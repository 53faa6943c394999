// Every NaN that headwise computes has the same bits.
#pragma once

#include <cmath>

#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI {

// x, or kNaN for any NaN.
inline float one_nan(float x) { return std::isnan(x) ? kNaN : x; }

}  // namespace headwise::inline HEADWISE_ABI
