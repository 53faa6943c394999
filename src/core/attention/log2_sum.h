// log2 of a row's sum, in binary64 without a C library: the same bits on every
// target.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// For a finite x > 0, or +infinity.
float log2_sum(float x);

// The log-sum-exp of a row from the maximum of its scores, in the log2 domain,
// and the sum of its exponentials.
float lse_of(float max, float sum);

}  // namespace headwise::inline HEADWISE_ABI
