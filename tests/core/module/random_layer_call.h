// A call of a layer and its gradients, for the tests of its backward pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

struct LayerCall {
  Tensor<float, 3> query;
  Tensor<float, 3> key;
  Tensor<float, 3> value;
  Tensor<float, 3> d_output;
  Tensor<float, 4> d_attn_weights{};

  TensorView<const float, 4> d_weights_view() const {
    return d_attn_weights.size() == 0 ? TensorView<const float, 4>()
                                      : d_attn_weights;
  }
};

inline LayerCall random_layer_call(const MultiHeadAttention& layer,
                                   std::size_t B, std::size_t Lq,
                                   std::size_t Lkv, std::uint32_t stream) {
  const MultiHeadAttentionConfig& config = layer.config();
  const std::size_t out = config.out_proj
                              ? config.embed_dim
                              : config.num_heads * *config.v_head_dim;
  return {uniform<3>({B, Lq, *config.query_dim}, stream),
          uniform<3>({B, Lkv, *config.kdim}, stream + 1),
          uniform<3>({B, Lkv, *config.vdim}, stream + 2),
          uniform<3>({B, Lq, out}, stream + 3)};
}

inline MultiHeadAttentionGradients gradients_of(
    const MultiHeadAttention& layer, const LayerCall& call,
    const AttentionOptions& options) {
  auto saved =
      layer.forward_for_backward(call.query, call.key, call.value, options)
          .value();
  return layer.backward(saved, call.d_output, call.d_weights_view()).value();
}

}  // namespace headwise::testing_support
