// The inner loops of rotary positions (docs/arithmetic.md). Nothing is checked
// or allocated; any alignment.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

struct RotaryLoops {
  // cos[p] and sin[p] of position * frequencies[p], each times `factor` and
  // rounded, p < pairs. The angles are at most 2^31.
  void (*angles)(double position, const double* frequencies, std::size_t pairs,
                 double factor, float* cos, float* sin);
  // Pair p is turned by the angle of cos[p] and sin[p]: x1[p] and x2[p], or
  // x[2p] and x[2p + 1]. y may be x.
  void (*halves)(const float* x1, const float* x2, const float* cos,
                 const float* sin, std::size_t pairs, float* y1, float* y2);
  void (*interleaved)(const float* x, const float* cos, const float* sin,
                      std::size_t pairs, float* y);
};

// The loops for the best instruction set of this processor, or the forced one.
const RotaryLoops& rotary_loops();

}  // namespace headwise::inline HEADWISE_ABI::kernels
