#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "headwise/attention/backward.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/rotate_heads.h"
#include "module/head_gradients.h"
#include "module/layer_call.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The gradients by the input and by the parameters of one projection.
struct ProjectionGradients {
  Tensor<float, 3> x;
  LinearGradients params;
};

Result<ProjectionGradients> through(const SavedRun& saved,
                                    std::string_view name, const Linear& linear,
                                    TensorView<const float, 3> x,
                                    TensorView<const float, 3> d_y,
                                    TensorView<const std::int64_t, 1> offsets) {
  const Executor& executor = executor_of(saved.run.options);
  HEADWISE_ASSIGN(auto d_x, linear.backward_input(d_y, "d_output", executor));
  if (saved.terms != nullptr) {
    HEADWISE_TRY(saved.terms->add_projection(name, x, d_y));
    return ProjectionGradients{std::move(d_x), {}};
  }
  HEADWISE_ASSIGN(auto params,
                  linear.backward_params(x, d_y, offsets, executor));
  return ProjectionGradients{std::move(d_x), std::move(params)};
}

// The context before the gates, (B, Lq, H * Dv).
TensorView<const float, 3> context_of(const LayerState& layer,
                                      const SavedRun& saved) {
  const LayerRun& run = saved.run;
  return run.ungated.size() != 0 ? run.ungated.view()
         : layer.params->w_o     ? run.merged.view()
                                 : saved.output;
}

// The gradient by the context, through the output projection and the gates,
// whose own gradients go to `gradients`. No value where there are neither: it
// is d_output then.
Result<std::optional<Tensor<float, 3>>> context_gradient(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output,
    MultiHeadAttentionGradients& gradients) {
  const LayerRun& run = saved.run;
  const std::optional<Linear>& w_o = layer.params->w_o;
  const Executor& executor = executor_of(run.options);
  const TensorView<const std::int64_t, 1> offsets = run.options.offsets.query;
  std::optional<Tensor<float, 3>> d_context;
  if (w_o) {
    HEADWISE_ASSIGN(auto back, through(saved, "w_o", *w_o, run.merged.view(),
                                       d_output, offsets));
    d_context = std::move(back.x);
    gradients.w_o = std::move(back.params);
  }
  if (run.layer_options.head_gates.data() == nullptr) {
    return d_context;
  }
  if (!d_context) {
    HEADWISE_ASSIGN(d_context,
                    Tensor<float, 3>::create_unset(d_output.extents()));
  }
  const std::size_t heads = layer.config.num_heads;
  const auto d_gated = w_o ? std::as_const(*d_context).view() : d_output;
  HEADWISE_ASSIGN(gradients.head_gates,
                  gate_heads_backward(
                      in_heads(context_of(layer, saved), heads),
                      run.layer_options.head_gates, in_heads(d_gated, heads),
                      in_heads(d_context->view(), heads), offsets, executor));
  return d_context;
}

// The gradients by the inputs and by w_q, w_k and w_v, from those by what was
// projected.
Status differentiate_projections(const LayerState& layer, const SavedRun& saved,
                                 TensorView<const float, 3> d_query,
                                 TensorView<const float, 3> d_key,
                                 TensorView<const float, 3> d_value,
                                 MultiHeadAttentionGradients& gradients) {
  const MultiHeadAttentionParams& params = *layer.params;
  const Offsets& offsets = saved.run.options.offsets;
  HEADWISE_ASSIGN(auto query,
                  through(saved, "w_q", params.w_q, saved.inputs.query, d_query,
                          offsets.query));
  HEADWISE_ASSIGN(auto key, through(saved, "w_k", params.w_k, saved.inputs.key,
                                    d_key, offsets.key));
  gradients.query = std::move(query.x);
  gradients.w_q = std::move(query.params);
  gradients.key = std::move(key.x);
  gradients.w_k = std::move(key.params);
  if (params.w_v) {
    HEADWISE_ASSIGN(auto value,
                    through(saved, "w_v", *params.w_v, saved.inputs.value,
                            d_value, offsets.key));
    gradients.value = std::move(value.x);
    gradients.w_v = std::move(value.params);
  }
  return ok();
}

// Queries, keys and values as they were compared.
Result<SplitHeads> compared_heads(const LayerState& layer, const LayerRun& run,
                                  TensorView<const float, 3> values,
                                  const AttentionShape& shape) {
  auto heads = split(run.projected, values, shape);
  if (heads && layer.config.qk_norm) {
    heads->query = in_heads(run.normed.query.view(), shape.Hq);
    heads->key = in_heads(run.normed.key.view(), shape.Hkv);
  }
  return heads;
}

// From the gradients by the queries and keys that were compared to those by
// them before they were rotated, in place.
Status through_rotation(const LayerState& layer, const LayerRun& run,
                        const AttentionShape& shape, Projected& d_compared) {
  const Rotary* const rotary = rotary_of(layer, run.layer_options);
  return rotary != nullptr
             ? rotate_heads_back(*rotary,
                                 {in_heads(d_compared.query.view(), shape.Hq),
                                  in_heads(d_compared.key.view(), shape.Hkv)},
                                 shape, run.options.query_start,
                                 run.layer_options.positions,
                                 executor_of(run.options))
             : ok();
}

// From there to the gradients by what was projected, in place: back through the
// norms, whose own gradients go to `gradients`.
Status through_norms(const LayerState& layer, const LayerRun& run,
                     Projected& d_normed,
                     MultiHeadAttentionGradients& gradients) {
  if (!layer.config.qk_norm) {
    return ok();
  }
  const QkNorm& norm = *layer.config.qk_norm;
  const Offsets& offsets = run.options.offsets;
  const Executor& executor = executor_of(run.options);
  const std::size_t Hq = layer.config.num_heads;
  const std::size_t Hkv = *layer.config.num_kv_heads;
  const TensorView<float, 4> d_query = in_heads(d_normed.query.view(), Hq);
  const TensorView<float, 4> d_key = in_heads(d_normed.key.view(), Hkv);
  HEADWISE_ASSIGN(
      auto of_query,
      norm_heads_backward(norm, *layer.params->q_norm,
                          in_heads(run.projected.query.view(), Hq), d_query,
                          d_query, offsets.query, executor));
  HEADWISE_ASSIGN(auto of_key,
                  norm_heads_backward(norm, *layer.params->k_norm,
                                      in_heads(run.projected.key.view(), Hkv),
                                      d_key, d_key, offsets.key, executor));
  gradients.q_norm = std::move(of_query);
  gradients.k_norm = std::move(of_key);
  return ok();
}

// The output of a layer without heads is the bias: nothing else has a gradient.
Result<MultiHeadAttentionGradients> differentiate_without_heads(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output) {
  MultiHeadAttentionGradients gradients;
  HEADWISE_TRY(context_gradient(layer, saved, d_output, gradients));
  const auto no_features = [](TensorView<const float, 3> x) {
    return TensorView<const float, 3>(nullptr, {x.extent(0), x.extent(1), 0});
  };
  const LayerInputs& inputs = saved.inputs;
  HEADWISE_TRY(differentiate_projections(
      layer, saved, no_features(inputs.query), no_features(inputs.key),
      no_features(inputs.value), gradients));
  return gradients;
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Result<HeadsBackward> differentiate_heads(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) {
  const LayerRun& run = saved.run;
  HEADWISE_ASSIGN(const auto plan, plan_of(layer, saved.inputs, run.options));
  const AttentionSpec& spec = plan.spec();
  const TensorView<const float, 3> values =
      layer.params->w_v ? run.projected.value.view() : saved.inputs.value;
  HEADWISE_ASSIGN(const auto heads,
                  compared_heads(layer, run, values, spec.shape));
  HEADWISE_ASSIGN(auto d_heads, make_gradients({run.projected.query.extents(),
                                                run.projected.key.extents(),
                                                values.extents()},
                                               spec));
  HeadsBackward back;
  MultiHeadAttentionGradients& gradients = back.gradients;
  HEADWISE_ASSIGN(const auto d_context,
                  context_gradient(layer, saved, d_output, gradients));
  const std::size_t Hq = spec.shape.Hq;
  const TensorView<const float, 4> d_heads_context =
      in_heads(d_context ? d_context->view() : d_output, Hq);
  if (const HeadHooks* const hooks = run.layer_options.hooks;
      hooks != nullptr && hooks->see_gradient) {
    HEADWISE_TRY(hooks->see_gradient(d_heads_context));
  }
  HEADWISE_TRY(attention_backward(
      {heads.query, heads.key, heads.value,
       in_heads(context_of(layer, saved), Hq), run.softmax_rows.view(),
       d_heads_context, d_attn_weights},
      views_of(d_heads, spec), run.options, operation_options_of(layer)));
  HEADWISE_TRY(through_rotation(layer, run, spec.shape, d_heads.projected));
  back.normed = std::move(d_heads.projected);
  move_options(std::move(d_heads), gradients);
  return back;
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

Result<MultiHeadAttentionGradients> differentiate_layer(
    const LayerState& layer, const SavedRun& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) {
  if (layer.config.num_heads == 0) {
    return differentiate_without_heads(layer, saved, d_output);
  }
  HEADWISE_ASSIGN(auto back,
                  differentiate_heads(layer, saved, d_output, d_attn_weights));
  MultiHeadAttentionGradients& gradients = back.gradients;
  Projected& d_projected = back.normed;
  HEADWISE_TRY(through_norms(layer, saved.run, d_projected, gradients));
  HEADWISE_TRY(differentiate_projections(layer, saved, d_projected.query.view(),
                                         d_projected.key.view(),
                                         d_projected.value.view(), gradients));
  if (!layer.params->w_v) {
    gradients.value = std::move(d_projected.value);
  }
  return std::move(gradients);
}

}  // namespace headwise::inline HEADWISE_ABI
