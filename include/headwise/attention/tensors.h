// The tensors that calls of attention read and write.
//
// An output with a view is written, an output without a view is not computed.
// attn_weights, scores, statistics and state must have a view exactly when the
// options ask for them; anything else is an error. A view without elements
// counts as none.
//
//   T       element type of query, key, value and output
//   SumOf   type of what is summed over rows: float, or double in the reference
#pragma once

#include <type_traits>

#include "headwise/attention/gradient_state.h"
#include "headwise/attention/state.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

template <class T>
using SumOf = std::conditional_t<(sizeof(T) < sizeof(float)), float, T>;

template <class T>
struct AttentionInputsOf {
  TensorView<const T, 4> query;  // (B, Lq, Hq, D)
  TensorView<const T, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const T, 4> value;  // (B, Lkv, Hkv, Dv)
};

template <class T>
struct AttentionOutputsOf {
  // (B, Lq, Hq, Dv). Of a part of the keys, only the last one has outputs
  // (attention/state.h).
  TensorView<T, 4> output{};
  // The shape depends on options.attn_weights. A ragged batch has that of a
  // padded one, with 0 where a sequence has no query or key. Added keys have a
  // column each behind the Lkv keys, here and in scores.
  TensorView<SumOf<T>, 4> attn_weights{};
  TensorView<SumOf<T>, 3> lse{};  // (B, Hq, Lq)
  // (B, Hq, Lq, 2), what the backward pass needs for each row: the maximum of
  // its scores times log2 e, and the sum of its exponentials, 0 for a row
  // without a key.
  TensorView<SumOf<T>, 4> softmax_rows{};
  StatisticsViews statistics{};  // not in the reference
  // (B, Hq, Lq, Lkv), as options.scores says. A ragged batch has the shape of a
  // padded one; what belongs to no query or key is 0, or -inf at the stage
  // ScoresStage::bias.
  TensorView<SumOf<T>, 4> scores{};
  // Of a part of the keys: also read, unless it is the first. Not in the
  // reference.
  AttentionState state{};
};
using AttentionOutputs = AttentionOutputsOf<float>;

// What the backward pass reads.
template <class T>
struct BackwardInputsOf {
  TensorView<const T, 4> query;   // (B, Lq, Hq, D)
  TensorView<const T, 4> key;     // (B, Lkv, Hkv, D)
  TensorView<const T, 4> value;   // (B, Lkv, Hkv, Dv)
  TensorView<const T, 4> output;  // (B, Lq, Hq, Dv), of attention()
  TensorView<const SumOf<T>, 4> softmax_rows;  // (B, Hq, Lq, 2), of attention()
  TensorView<const T, 4> d_output;             // (B, Lq, Hq, Dv)
  // The gradient of the attention weights that options.attn_weights returned,
  // with their shape; no view: 0. Not on a GPU.
  TensorView<const SumOf<T>, 4> d_attn_weights{};
};
using BackwardInputs = BackwardInputsOf<float>;

// Where the gradients go; no view: not computed. All are overwritten.
template <class T>
struct AttentionGradientsOf {
  TensorView<T, 4> query{};  // (B, Lq, Hq, D)
  TensorView<T, 4> key{};    // (B, Lkv, Hkv, D)
  TensorView<T, 4> value{};  // (B, Lkv, Hkv, Dv)
  // The axes are B, H, Lq, Lkv, with extent 1 where options.bias is broadcast;
  // by_scores(view, axes) converts a tensor with named axes. A key whose bias
  // is -inf gets 0.
  TensorView<SumOf<T>, 4> bias{};
  TensorView<SumOf<T>, 2> t5_bias{};       // (buckets, Hq)
  TensorView<SumOf<T>, 1> alibi{};         // (Hq)
  TensorView<SumOf<T>, 2> score_weight{};  // (Hq, D)
  TensorView<SumOf<T>, 1> sinks{};         // (Hq); 0 where the sink is -inf
  TensorView<SumOf<T>, 2> bias_k{};        // (Hkv, D), of added_keys
  TensorView<SumOf<T>, 2> bias_v{};        // (Hkv, Dv)
  // Of a part of the keys or of the queries: also read, unless it is the first.
  // Not in the reference.
  GradientState state{};
};
using AttentionGradients = AttentionGradientsOf<float>;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
