// The gradients by what the layer passes to the operation.
#pragma once

#include <utility>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer_memory.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {

struct HeadGradients {
  Projected projected;
  Tensor<float, 4> bias;
  Tensor<float, 2> t5_bias;
  Tensor<float, 1> alibi;
  Tensor<float, 2> score_weight;
  Tensor<float, 1> sinks;
  Tensor<float, 2> bias_k;  // (Hkv, D)
  Tensor<float, 2> bias_v;  // (Hkv, Dv)
};

struct HeadExtents {
  Extents<3> query;
  Extents<3> key;
  Extents<3> value;
};

// Not yet written. Errors: out_of_memory.
inline Result<HeadGradients> make_gradients(const HeadExtents& extents,
                                            const AttentionSpec& spec) {
  HEADWISE_ASSIGN(auto query, Tensor<float, 3>::create_unset(extents.query));
  HEADWISE_ASSIGN(auto key, Tensor<float, 3>::create_unset(extents.key));
  HEADWISE_ASSIGN(auto value, Tensor<float, 3>::create_unset(extents.value));
  HEADWISE_ASSIGN(auto bias,
                  Tensor<float, 4>::create_unset(
                      spec.bias.given() ? spec.bias.extents() : Extents<4>{}));
  HEADWISE_ASSIGN(auto t5_bias, Tensor<float, 2>::create_unset(
                                    spec.t5_bias.table().extents()));
  HEADWISE_ASSIGN(auto alibi, Tensor<float, 1>::create_unset(
                                  {spec.alibi.given() ? spec.shape.Hq : 0}));
  HEADWISE_ASSIGN(auto score_weight,
                  Tensor<float, 2>::create_unset(spec.score_weight.extents()));
  HEADWISE_ASSIGN(auto sinks,
                  Tensor<float, 1>::create_unset(spec.sinks.view().extents()));
  HEADWISE_ASSIGN(auto bias_k, Tensor<float, 2>::create_unset(
                                   spec.added_keys.bias_k().extents()));
  HEADWISE_ASSIGN(auto bias_v, Tensor<float, 2>::create_unset(
                                   spec.added_keys.bias_v().extents()));
  return HeadGradients{{std::move(query), std::move(key), std::move(value)},
                       std::move(bias),
                       std::move(t5_bias),
                       std::move(alibi),
                       std::move(score_weight),
                       std::move(sinks),
                       std::move(bias_k),
                       std::move(bias_v)};
}

inline AttentionGradients views_of(HeadGradients& d_heads,
                                   const AttentionSpec& spec) {
  return {
      .query = in_heads(d_heads.projected.query.view(), spec.shape.Hq),
      .key = in_heads(d_heads.projected.key.view(), spec.shape.Hkv),
      .value = in_heads(d_heads.projected.value.view(), spec.shape.Hkv),
      .bias = spec.bias.given() ? d_heads.bias.view() : TensorView<float, 4>(),
      .t5_bias = spec.t5_bias.given() ? d_heads.t5_bias.view()
                                      : TensorView<float, 2>(),
      .alibi =
          spec.alibi.given() ? d_heads.alibi.view() : TensorView<float, 1>(),
      .score_weight = spec.additive() ? d_heads.score_weight.view()
                                      : TensorView<float, 2>(),
      .sinks =
          spec.sinks.given() ? d_heads.sinks.view() : TensorView<float, 1>(),
      .bias_k = spec.added_keys.learned() ? d_heads.bias_k.view()
                                          : TensorView<float, 2>(),
      .bias_v = spec.added_keys.learned() ? d_heads.bias_v.view()
                                          : TensorView<float, 2>()};
}

// (Hkv, D), as the parameters of added keys: (Hkv * D).
inline Tensor<float, 1> in_one_row(Tensor<float, 2> heads) {
  const Extents<1> extents{heads.size()};
  return std::move(heads).with_extents(extents);
}

// Those of the options and of the parameters that the operation reads.
inline void move_options(HeadGradients&& d_heads,
                         MultiHeadAttentionParamGradients& gradients) {
  gradients.bias = std::move(d_heads.bias);
  gradients.t5_bias = std::move(d_heads.t5_bias);
  gradients.alibi = std::move(d_heads.alibi);
  gradients.sinks = std::move(d_heads.sinks);
  gradients.w_score = std::move(d_heads.score_weight);
  gradients.bias_k = in_one_row(std::move(d_heads.bias_k));
  gradients.bias_v = in_one_row(std::move(d_heads.bias_v));
}

}  // namespace headwise::inline HEADWISE_ABI
