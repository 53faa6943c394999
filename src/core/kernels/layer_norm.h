// The inner loops of layer normalisation and of the RMS norm, forward or
// backward for one row, with the order of sums of docs/arithmetic.md. There is
// no fused multiply-add, so that every instruction set gives the same bits.
// Nothing is checked or allocated; any alignment.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

struct LayerNormTerms {
  const float* weight;  // (E)
  const float* bias;    // (E)
  float eps;
  std::size_t E;  // at least 1
  // false: an RMS norm, which takes 0 for the mean.
  bool centred = true;
};

struct LayerNormGradientRow {
  float* d_x;       // (E)
  float* d_weight;  // (E), added to
  float* d_bias;    // (E), added to
};

struct LayerNorm {
  // y (E) from x (E), or from x + residual if that is not null. y may be x or
  // residual.
  void (*row)(const LayerNormTerms& terms, const float* x,
              const float* residual, float* y);
  // From x (E) and d_y (E); terms.bias is not read. If d_y is all zero, d_x is
  // 0 and nothing is added, whatever x holds. d_x may be d_y.
  void (*gradient)(const LayerNormTerms& terms, const float* x,
                   const float* d_y, const LayerNormGradientRow& to);
};

// The loops for the best instruction set of this processor, or the forced one.
const LayerNorm& layer_norm();

}  // namespace headwise::inline HEADWISE_ABI::kernels
