// Scores are computed in the log2 domain, where the softmax takes powers of
// two: what multiplies or is added to q.k carries log2 e.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Back to natural units.
inline constexpr float kLn2 = 0x1.62e43p-1f;

// Formed in binary64 and rounded once.
constexpr float times_log2e(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  return static_cast<float>(x * kLog2E);
}

}  // namespace headwise::inline HEADWISE_ABI
