// log2 of a row's sum, in binary64 without a C library: the same bits on every
// target.
#pragma once

namespace headwise {

// For a finite x > 0, or +infinity.
float log2_sum(float x);

}  // namespace headwise
