// What one forward pass of the layer is for, and what it made.
#pragma once

#include "headwise/module/multi_head_attention.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {

struct MultiHeadAttention::RunFor {
  TraceSink* trace = nullptr;
  // With what the backward pass needs.
  bool backward = false;
  // Where the output goes, and nothing else is wanted; no view: to the result.
  TensorView<float, 3> output{};

  bool output_alone() const { return output.data() != nullptr; }
};

struct MultiHeadAttention::Run {
  // What the operation was asked: with the layer's own dropout and score
  // weight, without the gates.
  AttentionOptions options{};
  TensorView<const float, 1> head_gates{};  // no view: none
  Projected projected{};
  // What w_o takes, (B, Lq, H * Dv); moved to the output without one.
  Tensor<float, 3> merged{};
  // As the heads gave it, where gates changed it; else empty.
  Tensor<float, 3> ungated{};
  Tensor<float, 4> softmax_rows{};
  MultiHeadAttentionResult<3> result;  // empty where the output went elsewhere
};

}  // namespace headwise::inline HEADWISE_ABI
