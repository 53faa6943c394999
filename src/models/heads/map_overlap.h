// How alike the attention maps of two models are on one sequence. For head a of
// one model and head b of the other, with the attention weights w:
//
//   overlap(a, b) = 1/L sum_i sum_j min(w_a[i,j], w_b[i,j])
//
// It is 1 for equal maps and 0 where the heads never attend to the same key. A
// row's share of it is 1 minus the total variation distance of the two rows.
//
// The maps are computed tile by tile: no L x L matrix is kept. The memory is
// O(heads L) besides the queries and keys, the time O(heads_a heads_b L^2).
//
// Example:
//   // Each with the queries and keys of its layers, (1, L, H, D).
//   Tensor<double, 2> overlaps = map_overlaps(layers_a, layers_b).value();
#pragma once

#include <cstddef>
#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// What the heads of a layer compare; Hq is a multiple of Hkv. A layer whose
// heads were all pruned has Hq = 0.
struct ComparedLayer {
  TensorView<const float, 4> query;  // (1, L, Hq, D)
  TensorView<const float, 4> key;    // (1, L, Hkv, D)
  AttentionOptions options{};
};

// (heads of a, heads of b): the heads of each, layer by layer. In binary64;
// the bits do not depend on the threads. Errors: shape_mismatch for layers with
// different numbers of tokens; bad_data for attention weights that are NaN;
// those of attention(). `executor` null: Executor::default_executor().
Result<Tensor<double, 2>> map_overlaps(std::span<const ComparedLayer> a,
                                       std::span<const ComparedLayer> b,
                                       const Executor* executor = nullptr);

}  // namespace headwise::inline HEADWISE_ABI
