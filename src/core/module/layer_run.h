// One forward pass of the layer: what it is given and what it gives.
#pragma once

#include "headwise/module/multi_head_attention.h"
#include "module/layer_memory.h"
#include "module/layer_moves.h"
#include "module/layer_state.h"

namespace headwise::inline HEADWISE_ABI {

inline const Executor& executor_of(const AttentionOptions& options) {
  return options.executor ? *options.executor : Executor::default_executor();
}

struct LayerCall {
  LayerInputs inputs;
  const AttentionOptions& options;
  const LayerOptions& layer_options;
  TraceSink* trace = nullptr;
  bool for_backward = false;  // keep what the backward pass needs
  // Where to write the output, if nothing else is wanted; no view: return it.
  TensorView<float, 3> output{};

  bool output_only() const { return output.data() != nullptr; }
};

// Queries and keys as they are compared: normalised, and rotated where the
// layer has rotary positions.
struct NormedHeads {
  Tensor<float, 3> query{};  // (B, Lq, H * D)
  Tensor<float, 3> key{};    // (B, Lkv, Hkv * D)
};

struct LayerRun {
  AttentionOptions options{};  // options_of() the call
  LayerOptions layer_options{};
  Projected projected{};
  // Where the layer has a norm and the backward pass needs `projected`, too.
  NormedHeads normed{};
  // The input of w_o, (B, Lq, H * Dv); without a w_o moved to the output.
  Tensor<float, 3> merged{};
  // The context before the gates; empty where they change nothing.
  Tensor<float, 3> ungated{};
  Tensor<float, 4> softmax_rows{};
  MultiHeadAttentionResult<3> result;  // empty if LayerCall::output_only()
};

// A forward pass that was kept for its backward pass.
struct SavedRun {
  const LayerInputs& inputs;
  const LayerRun& run;
  TensorView<const float, 3> output;
  ParamTerms* terms = nullptr;  // who sums the gradients of the projections
};

// The backward pass down to the heads, of a layer with heads.
struct HeadsBackward {
  // By queries and keys before their rotation, after their norm if there is
  // one, and by values.
  Projected normed{};
  // All others but those of the inputs, of w_q, w_k, w_v and of the norms.
  MultiHeadAttentionGradients gradients{};
};

}  // namespace headwise::inline HEADWISE_ABI

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Errors: those of MultiHeadAttention::forward().
Result<LayerRun> run_layer(const LayerState& layer, const LayerCall& call);

Result<HeadsBackward> differentiate_heads(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

Result<MultiHeadAttentionGradients> differentiate_layer(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights);

}  // namespace headwise::inline HEADWISE_ABI
