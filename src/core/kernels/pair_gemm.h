// The inner loops of a projection (gemm.h) in bfloat16: pairs of input features
// in the place of floats (pairs-inl.h), in x and in strips (strips, 1 +
// count_pairs(in_features), 16), whose first row is the bias in float32. The
// last pair of an odd number of features ends in 0.
//
// Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/gemm.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Floats in one strip of pairs.
std::size_t pair_strip_size(std::size_t in_features);

// Strips of gemm.h -> strips of pairs, 64-byte aligned.
void pair_strips(const float* strips, std::size_t in_features,
                 std::size_t out_features, float* pairs);

// As pack_strips() and pack_transposed_strips(), to strips of pairs.
void pack_pair_strips(const float* weight, const float* bias,
                      std::size_t in_features, std::size_t out_features,
                      float* pairs);
void pack_transposed_pair_strips(const float* weight, std::size_t in_features,
                                 std::size_t out_features, float* pairs);

// Their `in_features` are pairs, and so are elements of x. For the best
// instruction set of this processor, or the forced one.
const Gemm& pair_gemm();

}  // namespace headwise::inline HEADWISE_ABI::kernels
