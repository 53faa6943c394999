// log2 of a row's sum, in binary64 without a C library: the same bits on every
// target.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// For a finite x > 0, or +infinity.
float log2_sum(float x);

}  // namespace headwise::inline HEADWISE_ABI
