// The parts of the layer's forward pass, one function each. The backward pass
// uses some of them again.
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

template <class T>
struct LayerInputsOf {
  TensorView<const T, 3> query;  // (B, Lq, query_dim)
  TensorView<const T, 3> key;    // (B, Lkv, kdim)
  TensorView<const T, 3> value;  // (B, Lkv, vdim)
};
using LayerInputs = LayerInputsOf<float>;

struct SplitHeads {
  TensorView<const float, 4> query;  // (B, Lq, H, D)
  TensorView<const float, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const float, 4> value;  // (B, Lkv, Hkv, Dv)
};

// What attention gives: the context, and what else was requested.
struct Attended {
  Tensor<float, 3> merged;        // (B, Lq, H * Dv), the merged context
  Tensor<float, 4> attn_weights;  // as options.attn_weights says
  Tensor<float, 3> lse;           // (B, H, Lq)
  Tensor<float, 4> softmax_rows;  // (B, H, Lq, 2), for the backward pass
  Tensor<float, 4> scores{};      // as options.scores says
};

// What to compute for each row besides its context.
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

// For each sequence, the end of the keys that any of its queries may attend to.
// Empty where all keys are read, as in a ragged batch, which has no padding,
// and under EmptyRow::uniform, which averages every value.
std::vector<std::size_t> read_ends(const AttentionSpec& spec);

// One pass over each distinct tensor: one for self-attention, two where key and
// value are the same. Projected keys and values from ends[b] on are 0. The
// results are in `memory` where that is large enough.
Result<Projected> project_inputs(const MultiHeadAttentionParams& params,
                                 const LayerInputs& inputs,
                                 const AttentionShape& shape,
                                 std::span<const std::size_t> ends,
                                 const Executor& executor, Projected memory);

// `value` (B, Lkv, Hkv * Dv): projected, or the input where there is no w_v.
Result<SplitHeads> split(const Projected& projected,
                         TensorView<const float, 3> value,
                         const AttentionShape& shape);

// Computes in memory.workspace, which stays there, and in memory.merged, which
// is moved to the result.
Result<Attended> attend(const PlannedCall& plan, const SplitHeads& heads,
                        const OfEachRow& wanted, LayerMemory& memory);

}  // namespace headwise::inline HEADWISE_ABI
