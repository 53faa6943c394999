// The inner loops of GELU (docs/arithmetic.md; kernels/gelu-inl.h computes one
// vector). Nothing is checked or allocated; any alignment.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

struct Gelu {
  // y[i] = x[i] * Phi(x[i]), i < count. y may be x.
  void (*elements)(const float* x, std::size_t count, float* y);
  // d_x[i] = d_y[i] * (Phi(x[i]) + x[i] * phi(x[i])), 0 where d_y[i] is 0.
  // d_x may be x or d_y.
  void (*gradient)(const float* x, const float* d_y, std::size_t count,
                   float* d_x);
};

// The loops for the best instruction set of this processor, or the forced one.
const Gelu& gelu();

}  // namespace headwise::inline HEADWISE_ABI::kernels
