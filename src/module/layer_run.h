// What one forward pass of the layer made.
#pragma once

#include "headwise/module/multi_head_attention.h"
#include "module/layer_moves.h"

namespace headwise {

struct MultiHeadAttention::Run {
  AttentionOptions options;  // with the layer's own dropout and score weight
  Projected projected;
  Tensor<float, 3> merged;  // (B, Lq, H * Dv); moved to the output without w_o
  Tensor<float, 4> softmax_rows;
  MultiHeadAttentionResult<3> result;
};

}  // namespace headwise
