// The inner loop of layer normalisation: one row, in the order of sums of
// docs/arithmetic.md, which has no fused multiply-add, so that every
// instruction set gives the same bits. Nothing is checked, nothing allocated;
// any alignment.
#pragma once

#include <cstddef>

namespace headwise::kernels {

struct LayerNormTerms {
  const float* weight;  // (E)
  const float* bias;    // (E)
  float eps;
  std::size_t E;  // at least 1
};

struct LayerNorm {
  // y (E) of x (E), or of x + residual where that is not null. y may be x or
  // residual.
  void (*row)(const LayerNormTerms& terms, const float* x,
              const float* residual, float* y);
};

// The loop of the best instruction set of this processor, or of the forced one.
const LayerNorm& layer_norm();

}  // namespace headwise::kernels
