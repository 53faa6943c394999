// The inner loops of layer normalisation, one row there or back, in the order
// of sums of docs/arithmetic.md, which has no fused multiply-add, so that every
// instruction set gives the same bits. Nothing is checked, nothing allocated;
// any alignment.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

struct LayerNormTerms {
  const float* weight;  // (E)
  const float* bias;    // (E)
  float eps;
  std::size_t E;  // at least 1
};

struct LayerNormGradientRow {
  float* d_x;       // (E)
  float* d_weight;  // (E), added to
  float* d_bias;    // (E), added to
};

struct LayerNorm {
  // y (E) of x (E), or of x + residual where that is not null. y may be x or
  // residual.
  void (*row)(const LayerNormTerms& terms, const float* x,
              const float* residual, float* y);
  // Of x (E) and d_y (E); terms.bias is not read. A d_y of zeros makes d_x 0
  // and adds nothing, whatever x holds. d_x may be d_y.
  void (*gradient)(const LayerNormTerms& terms, const float* x,
                   const float* d_y, const LayerNormGradientRow& to);
};

// The loops of the best instruction set of this processor, or of the forced
// one.
const LayerNorm& layer_norm();

}  // namespace headwise::inline HEADWISE_ABI::kernels
