// The inner loop of GELU (docs/arithmetic.md; kernels/gelu-inl.h is one vector
// of it). Nothing is checked, nothing allocated; any alignment.
#pragma once

#include <cstddef>

namespace headwise::kernels {

struct Gelu {
  // y[i] = x[i] * Phi(x[i]), i < count. y may be x.
  void (*elements)(const float* x, std::size_t count, float* y);
};

// The loop of the best instruction set of this processor, or of the forced one.
const Gelu& gelu();

}  // namespace headwise::kernels
