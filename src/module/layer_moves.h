// The moves of the layer, one by one: what its forward pass makes of the inputs
// and what its backward pass takes up again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attention/planned_call.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer_memory.h"

namespace headwise::inline HEADWISE_ABI {

struct LayerInputs {
  TensorView<const float, 3> query;  // (B, Lq, query_dim)
  TensorView<const float, 3> key;    // (B, Lkv, kdim)
  TensorView<const float, 3> value;  // (B, Lkv, vdim)
};

struct SplitHeads {
  TensorView<const float, 4> query;  // (B, Lq, H, D)
  TensorView<const float, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const float, 4> value;  // (B, Lkv, Hkv, Dv)
};

// What the heads give: the context and what was asked for beside it.
struct Attended {
  Tensor<float, 3> merged;        // (B, Lq, H * Dv), the context by tokens
  Tensor<float, 4> attn_weights;  // as options.attn_weights says
  Tensor<float, 3> lse;           // (B, H, Lq)
  Tensor<float, 4> softmax_rows;  // (B, H, Lq, 2), for the backward pass
};

// What is wanted of a row beside its context.
struct OfEachRow {
  bool lse = false;
  bool softmax_rows = false;
};

// (B, L, H * D) as (B, L, H, D), any strides.
template <class T>
TensorView<T, 4> in_heads(TensorView<T, 3> merged, std::size_t heads) {
  const auto [B, L, features] = merged.extents();
  const std::size_t size = heads == 0 ? 0 : features / heads;
  return {
      merged.data(),
      {B, L, heads, size},
      {merged.stride(0), merged.stride(1),
       merged.stride(2) * static_cast<std::ptrdiff_t>(size), merged.stride(2)}};
}

// What a call of the layer asks of the operation.
Result<PlannedCall> plan_of(const MultiHeadAttentionConfig& config,
                            const LayerInputs& inputs,
                            const AttentionOptions& options);

// Keys that a query of their sequence may attend to end here; empty where all
// are read: an empty row may average every value, a ragged batch has no
// padding.
std::vector<std::size_t> read_ends(const AttentionSpec& spec);

// One pass over each tensor that is given: one for self-attention, two where
// key and value are one. Projected keys and values from ends[b] on are 0. They
// are computed in `memory`, where that is large enough.
Result<Projected> project_inputs(const MultiHeadAttentionParams& params,
                                 const LayerInputs& inputs,
                                 const AttentionShape& shape,
                                 std::span<const std::size_t> ends,
                                 const Executor& executor, Projected memory);

// `value` (B, Lkv, Hkv * Dv): projected, or as it was given where there is no
// w_v.
Result<SplitHeads> split(const Projected& projected,
                         TensorView<const float, 3> value,
                         const AttentionShape& shape);

// Computed in the memory's workspace, which stays there, and in its merged
// tensor.
Result<Attended> attend(const PlannedCall& plan, const SplitHeads& heads,
                        const OfEachRow& wanted, LayerMemory& memory);

}  // namespace headwise::inline HEADWISE_ABI
