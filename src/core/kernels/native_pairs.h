// Which instructions multiply pairs of bfloat16: the processor's dot product or
// fused multiply-adds, with the same bits.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Whether the processor has the dot product of AVX512-BF16 and
// HEADWISE_BF16=emulated in the environment, which is read once, does not turn
// it off.
bool native_pairs();

}  // namespace headwise::inline HEADWISE_ABI::kernels
