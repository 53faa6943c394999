// The inner loops of a projection: rows of x times packed parameters,
//
//   y[r,o] = sum_i x[r,i] * weight[o,i] + bias[o]
//
// There is one output feature per lane, so that every sum over the input
// features is one chain per block of 128, in index order, and the blocks are
// added in order: the same bits for every vector width and any other rows
// (docs/arithmetic.md).
//
// The parameters are packed in strips of 16 output features, one after another:
// (strips, 1 + in_features, 16), where row 0 is the bias and row 1 + i is
// weight[16 strip + lane, i]. Missing features are 0. The row of the bias also
// keeps strips from being a multiple of 4 KiB apart, where they would fall into
// the same cache sets.
//
// Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Input features per block of the sum; the blocks are added in order.
inline constexpr std::size_t kFeatureBlock = 128;
// Rows that are multiplied by the parameters together, on every target.
inline constexpr std::size_t kGemmRows = 6;
// Output features per strip: a cache line, the same on every target.
inline constexpr std::size_t kStripFeatures = 16;

inline std::size_t count_strips(std::size_t out_features) {
  return (out_features + kStripFeatures - 1) / kStripFeatures;
}
// Floats in one strip.
constexpr std::size_t strip_size(std::size_t in_features) {
  return (1 + in_features) * kStripFeatures;
}

// The rows of a call, which may be anywhere.
struct GemmRows {
  const float* const* x;  // the first input feature of each row
  std::ptrdiff_t stride;  // between the input features of a row
  float* const* y;        // the first output feature of each row, contiguous
  std::size_t count;
};

struct Gemm {
  // y = x times the first `out_features` features of `strips`. Every NaN is
  // 0x7fc00000.
  void (*multiply)(const GemmRows& rows, const float* strips,
                   std::size_t in_features, std::size_t out_features);
  // The same without the bias, added block by block to y; a NaN keeps its bits.
  void (*add)(const GemmRows& rows, const float* strips,
              std::size_t in_features, std::size_t out_features);
};

// weight (out_features, in_features), bias (out_features) or null, both
// contiguous -> strips, 64-byte aligned.
void pack_strips(const float* weight, const float* bias,
                 std::size_t in_features, std::size_t out_features,
                 float* strips);
// Of one strip the rows of `count` input features: weight (features,
// in_features) begins at the first of them, and `features` is at most 16.
void pack_strip_rows(const float* weight, std::size_t in_features,
                     std::size_t count, std::size_t features, float* to);
// pack_strips() for the transposed weight, without a bias: strips of its
// in_features outputs, from out_features inputs.
void pack_transposed_strips(const float* weight, std::size_t in_features,
                            std::size_t out_features, float* strips);

// The loops for the best instruction set of this processor, or the forced one.
const Gemm& gemm();

}  // namespace headwise::inline HEADWISE_ABI::kernels
