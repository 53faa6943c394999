// Backward calls for tests.
#pragma once

#include <gtest/gtest.h>

#include "attention/attention_call.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/reference.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// The gradients of a loss by what the forward pass gave.
template <class T>
struct Upstream {
  Tensor<T, 4> d_output;        // (B, Lq, Hq, Dv)
  Tensor<T, 4> d_attn_weights;  // of the returned weights' shape; empty: none
};

inline Upstream<float> random_upstream(const Inputs<float>& in,
                                       const AttentionOptions& options,
                                       std::uint32_t stream,
                                       const OperationOptions& operation = {}) {
  const auto [B, Lq, Hq, D] = in.query.extents();
  const std::size_t heads = options.attn_weights == AttnWeights::none   ? 0
                            : options.attn_weights == AttnWeights::mean ? 1
                                                                        : Hq;
  return {uniform<4>({B, Lq, Hq, in.value.extent(3)}, stream),
          uniform<4>(
              {B, heads, Lq, in.key.extent(1) + count_of(operation.added_keys)},
              stream + 1)};
}
inline Upstream<double> widened(const Upstream<float>& upstream) {
  return {widened(upstream.d_output), widened(upstream.d_attn_weights)};
}

template <class T>
struct Gradients {
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
  Tensor<T, 4> bias;     // by B, H, Lq, Lkv; empty: there is none
  Tensor<T, 2> t5_bias;  // likewise, as the next two
  Tensor<T, 1> alibi;
  Tensor<T, 2> score_weight;
  Tensor<T, 1> sinks;
  Tensor<T, 2> bias_k;  // of added keys
  Tensor<T, 2> bias_v;

  AttentionGradientsOf<T> views() {
    return {query.view(),
            key.view(),
            value.view(),
            bias.size() == 0 ? TensorView<T, 4>() : bias.view(),
            t5_bias.size() == 0 ? TensorView<T, 2>() : t5_bias.view(),
            alibi.size() == 0 ? TensorView<T, 1>() : alibi.view(),
            score_weight.size() == 0 ? TensorView<T, 2>() : score_weight.view(),
            sinks.size() == 0 ? TensorView<T, 1>() : sinks.view(),
            bias_k.size() == 0 ? TensorView<T, 2>() : bias_k.view(),
            bias_v.size() == 0 ? TensorView<T, 2>() : bias_v.view()};
  }
};

// Filled with 42, so that a test sees which elements were never written.
template <class T>
Gradients<T> gradients_for(const Inputs<T>& in, const AttentionOptions& options,
                           const OperationOptions& operation_options) {
  const auto shape =
      attention_shape(in.query.extents(), in.key.extents(), in.value.extents())
          .value();
  const auto spec =
      AttentionSpec::create(shape, options, operation_options).value();
  return {filled<T, 4>(in.query.extents(), T{42}),
          filled<T, 4>(in.key.extents(), T{42}),
          filled<T, 4>(in.value.extents(), T{42}),
          filled<T, 4>(
              spec.bias.given() ? spec.bias.extents() : Extents<4>{0, 0, 0, 0},
              T{42}),
          filled<T, 2>(spec.t5_bias.table().extents(), T{42}),
          filled<T, 1>({spec.alibi.given() ? spec.shape.Hq : 0}, T{42}),
          filled<T, 2>(spec.score_weight.extents(), T{42}),
          filled<T, 1>(spec.sinks.view().extents(), T{42}),
          filled<T, 2>(spec.added_keys.bias_k().extents(), T{42}),
          filled<T, 2>(spec.added_keys.bias_v().extents(), T{42})};
}

// What a forward pass leaves for the backward one.
struct SavedForward {
  Tensor<float, 4> output;
  Tensor<float, 4> softmax_rows;
};

inline SavedForward attend_and_save(
    const Inputs<float>& in, const AttentionOptions& options = {},
    const OperationOptions& operation_options = {}) {
  auto out = outputs_for(in, options, operation_options);
  const auto [B, Lq, Hq, D] = in.query.extents();
  auto rows = Tensor<float, 4>::create({B, Hq, Lq, 2}).value();
  AttentionOutputs outputs = out.views();
  outputs.softmax_rows = rows.view();
  const Status forward =
      attention(in.query.view(), in.key.view(), in.value.view(), outputs,
                options, operation_options);
  EXPECT_TRUE(forward) << forward.error().message();
  return {std::move(out.output), std::move(rows)};
}

inline BackwardInputs backward_inputs(const Inputs<float>& in,
                                      const SavedForward& saved,
                                      const Upstream<float>& upstream) {
  return {in.query.view(),
          in.key.view(),
          in.value.view(),
          view_of(saved.output),
          view_of(saved.softmax_rows),
          upstream.d_output.view(),
          upstream.d_attn_weights.size() == 0 ? TensorView<const float, 4>()
                                              : upstream.d_attn_weights.view()};
}

// The forward pass, then the backward one.
inline Gradients<float> differentiate(
    const Inputs<float>& in, const Upstream<float>& upstream,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {}) {
  const SavedForward saved = attend_and_save(in, options, operation_options);
  auto gradients = gradients_for(in, options, operation_options);
  const Status s =
      attention_backward(backward_inputs(in, saved, upstream),
                         gradients.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return gradients;
}

template <class T>
Gradients<T> reference_gradients(
    const Inputs<T>& in, const Upstream<T>& upstream,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {}) {
  auto gradients = gradients_for(in, options, operation_options);
  const auto [B, Lq, Hq, D] = in.query.extents();
  const auto rows = Tensor<T, 4>::create({B, Hq, Lq, 2}).value();
  const Status s = reference_attention_backward<T>(
      {in.query.view(), in.key.view(), in.value.view(),
       upstream.d_output.view(), rows.view(), upstream.d_output.view(),
       upstream.d_attn_weights.size() == 0 ? TensorView<const T, 4>()
                                           : upstream.d_attn_weights.view()},
      gradients.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return gradients;
}

inline testing::AssertionResult same_bits(const Gradients<float>& got,
                                          const Gradients<float>& want) {
  const std::pair<const Tensor<float, 4>&, const Tensor<float, 4>&> pairs[] = {
      {got.query, want.query},
      {got.key, want.key},
      {got.value, want.value},
      {got.bias, want.bias}};
  const char* names[] = {"d_query", "d_key", "d_value", "d_bias"};
  for (std::size_t n = 0; n < std::size(pairs); ++n) {
    if (auto r = same_bits(pairs[n].first, pairs[n].second); !r) {
      return r << " of " << names[n];
    }
  }
  if (auto r = same_bits(got.t5_bias, want.t5_bias); !r) {
    return r << " of d_t5_bias";
  }
  if (auto r = same_bits(got.alibi, want.alibi); !r) {
    return r << " of d_alibi";
  }
  if (auto r = same_bits(got.sinks, want.sinks); !r) {
    return r << " of d_sinks";
  }
  if (auto r = same_bits(got.bias_k, want.bias_k); !r) {
    return r << " of d_bias_k";
  }
  if (auto r = same_bits(got.bias_v, want.bias_v); !r) {
    return r << " of d_bias_v";
  }
  return same_bits(got.score_weight, want.score_weight) << " of d_score_weight";
}

}  // namespace headwise::testing_support
