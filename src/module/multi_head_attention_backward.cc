#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/attention/backward.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/heads.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "multi_head_attention";

// The gradients by what the operation read, in the memory of projections.
struct HeadGradients {
  Projected projected;
  Tensor<float, 4> bias;
  Tensor<float, 1> alibi;
  Tensor<float, 2> score_weight;
};

Result<HeadGradients> make_gradients(const Projected& like,
                                     TensorView<const float, 3> like_value,
                                     const AttentionSpec& spec) {
  auto query = Tensor<float, 3>::create_unset(like.query.extents());
  auto key = Tensor<float, 3>::create_unset(like.key.extents());
  auto value = Tensor<float, 3>::create_unset(like_value.extents());
  auto bias = Tensor<float, 4>::create_unset(
      spec.bias.given() ? spec.bias.extents() : Extents<4>{});
  auto alibi =
      Tensor<float, 1>::create_unset({spec.alibi.given() ? spec.shape.Hq : 0});
  if (!query || !key || !value) {
    return !query ? query.error() : !key ? key.error() : value.error();
  }
  auto score_weight =
      Tensor<float, 2>::create_unset(spec.score_weight.extents());
  if (!bias || !alibi || !score_weight) {
    return !bias ? bias.error() : !alibi ? alibi.error() : score_weight.error();
  }
  return HeadGradients{{*std::move(query), *std::move(key), *std::move(value)},
                       *std::move(bias),
                       *std::move(alibi),
                       *std::move(score_weight)};
}

AttentionGradients views_of(HeadGradients& d_heads, const AttentionSpec& spec) {
  return {
      .query = in_heads(d_heads.projected.query.view(), spec.shape.Hq),
      .key = in_heads(d_heads.projected.key.view(), spec.shape.Hkv),
      .value = in_heads(d_heads.projected.value.view(), spec.shape.Hkv),
      .bias = spec.bias.given() ? d_heads.bias.view() : TensorView<float, 4>(),
      .alibi =
          spec.alibi.given() ? d_heads.alibi.view() : TensorView<float, 1>(),
      .score_weight = spec.additive() ? d_heads.score_weight.view()
                                      : TensorView<float, 2>()};
}

// What one projection passes back.
struct ProjectionGradients {
  Tensor<float, 3> x;
  LinearGradients params;
};

Result<ProjectionGradients> through(const Linear& linear,
                                    TensorView<const float, 3> x,
                                    TensorView<const float, 3> d_y,
                                    TensorView<const std::int64_t, 1> offsets,
                                    const Executor& executor) {
  auto d_x = linear.backward_input(d_y, "d_output", executor);
  HEADWISE_TRY(d_x);
  auto params = linear.backward_params(x, d_y, offsets, executor);
  HEADWISE_TRY(params);
  return ProjectionGradients{*std::move(d_x), *std::move(params)};
}

}  // namespace

struct MultiHeadAttentionSaved::State {
  LayerInputs inputs;
  MultiHeadAttention::Run run;  // its result is the saved one's
  std::uint64_t params_id;
};

void MultiHeadAttentionSaved::Delete::operator()(State* state) const {
  delete state;
}

Result<MultiHeadAttentionSaved> MultiHeadAttention::forward_for_backward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options) const
    try {
  auto done = run(query, key, value, options, {.backward = true});
  HEADWISE_TRY(done);
  MultiHeadAttentionSaved saved;
  saved.result_ = std::move(done->result);
  saved.state_.reset(new MultiHeadAttentionSaved::State{
      {query, key, value}, *std::move(done), params_id_});
  return saved;
} catch (...) {
  return caught_out_of_memory();
}

// What the heads gave, (B, Lq, H * Dv).
TensorView<const float, 3> MultiHeadAttention::context_of(
    const MultiHeadAttentionSaved& saved) const {
  const Run& run = saved.state_->run;
  return run.ungated.size() != 0 ? run.ungated.view()
         : params_->w_o          ? run.merged.view()
                                 : saved.result_.output.view();
}

// Through the output projection and the gates, whose gradients are put into
// `gradients`. None where there are neither: it is d_output then.
Result<std::optional<Tensor<float, 3>>> MultiHeadAttention::context_gradient(
    const MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
    MultiHeadAttentionGradients& gradients) const {
  const Run& run = saved.state_->run;
  const Executor& executor = run.options.executor
                                 ? *run.options.executor
                                 : Executor::default_executor();
  const TensorView<const std::int64_t, 1> offsets = run.options.offsets.query;
  std::optional<Tensor<float, 3>> d_context;
  if (params_->w_o) {
    auto back =
        through(*params_->w_o, run.merged.view(), d_output, offsets, executor);
    HEADWISE_TRY(back);
    d_context = std::move(back->x);
    gradients.w_o = std::move(back->params);
  }
  if (run.head_gates.data() == nullptr) {
    return d_context;
  }
  if (!d_context) {
    auto made = Tensor<float, 3>::create_unset(d_output.extents());
    HEADWISE_TRY(made);
    d_context = *std::move(made);
  }
  const std::size_t heads = config_.num_heads;
  const auto d_gated =
      params_->w_o ? std::as_const(*d_context).view() : d_output;
  auto d_gates = gate_heads_backward(in_heads(context_of(saved), heads),
                                     run.head_gates, in_heads(d_gated, heads),
                                     in_heads(d_context->view(), heads),
                                     offsets, executor);
  HEADWISE_TRY(d_gates);
  gradients.head_gates = *std::move(d_gates);
  return d_context;
}

// What was put out was the bias: nothing else has a gradient.
Result<MultiHeadAttentionGradients>
MultiHeadAttention::differentiate_without_heads(
    const MultiHeadAttentionSaved& saved,
    TensorView<const float, 3> d_output) const {
  const auto& [inputs, run, params_id] = *saved.state_;
  MultiHeadAttentionGradients gradients;
  HEADWISE_TRY(context_gradient(saved, d_output, gradients));
  const auto no_features = [](TensorView<const float, 3> x) {
    return TensorView<const float, 3>(nullptr, {x.extent(0), x.extent(1), 0});
  };
  const Executor& executor = run.options.executor
                                 ? *run.options.executor
                                 : Executor::default_executor();
  const auto back = [&](const Linear& linear, TensorView<const float, 3> x,
                        TensorView<const std::int64_t, 1> offsets,
                        Tensor<float, 3>& d_x, LinearGradients& params) {
    auto done = through(linear, x, no_features(x), offsets, executor);
    if (!done) {
      return Status(done.error());
    }
    d_x = std::move(done->x);
    params = std::move(done->params);
    return ok();
  };
  const Offsets& offsets = run.options.offsets;
  Status s = back(params_->w_q, inputs.query, offsets.query, gradients.query,
                  gradients.w_q);
  if (s) {
    s = back(params_->w_k, inputs.key, offsets.key, gradients.key,
             gradients.w_k);
  }
  if (s) {
    s = back(*params_->w_v, inputs.value, offsets.key, gradients.value,
             gradients.w_v);
  }
  return s ? Result<MultiHeadAttentionGradients>(std::move(gradients))
           : s.error();
}

Result<MultiHeadAttentionGradients> MultiHeadAttention::differentiate(
    const MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) const {
  const auto& [inputs, run, params_id] = *saved.state_;
  if (config_.num_heads == 0) {
    return differentiate_without_heads(saved, d_output);
  }
  const auto plan = plan_of(config_, inputs, run.options);
  HEADWISE_TRY(plan);
  const AttentionSpec& spec = plan->spec();
  const TensorView<const float, 3> values =
      params_->w_v ? run.projected.value.view() : inputs.value;
  const auto heads = split(run.projected, values, spec.shape);
  auto d_heads = make_gradients(run.projected, values, spec);
  if (!heads || !d_heads) {
    return heads ? d_heads.error() : heads.error();
  }
  const Offsets& offsets = run.options.offsets;
  MultiHeadAttentionGradients gradients;
  auto d_context = context_gradient(saved, d_output, gradients);
  HEADWISE_TRY(d_context);
  const std::size_t Hq = spec.shape.Hq;
  const Status attended = attention_backward(
      {heads->query, heads->key, heads->value, in_heads(context_of(saved), Hq),
       run.softmax_rows.view(),
       in_heads(*d_context ? std::as_const(**d_context).view() : d_output, Hq),
       d_attn_weights},
      views_of(*d_heads, spec), run.options);
  HEADWISE_TRY(attended);
  Projected& d_projected = d_heads->projected;
  auto query = through(params_->w_q, inputs.query, d_projected.query.view(),
                       offsets.query, *spec.executor);
  auto key = through(params_->w_k, inputs.key, d_projected.key.view(),
                     offsets.key, *spec.executor);
  auto value = params_->w_v ? through(*params_->w_v, inputs.value,
                                      d_projected.value.view(), offsets.key,
                                      *spec.executor)
                            : Result<ProjectionGradients>(ProjectionGradients{
                                  std::move(d_projected.value), {}});
  if (!query || !key || !value) {
    return !query ? query.error() : !key ? key.error() : value.error();
  }
  gradients.query = std::move(query->x);
  gradients.w_q = std::move(query->params);
  gradients.key = std::move(key->x);
  gradients.w_k = std::move(key->params);
  gradients.value = std::move(value->x);
  gradients.w_v = std::move(value->params);
  gradients.bias = std::move(d_heads->bias);
  gradients.alibi = std::move(d_heads->alibi);
  gradients.w_score = std::move(d_heads->score_weight);
  return gradients;
}

Result<MultiHeadAttentionGradients> MultiHeadAttention::backward(
    MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) const try {
  if (!saved.state_) {
    return value_error(kOperation, "saved", "used already",
                       "one of forward_for_backward() for each backward()");
  }
  const MultiHeadAttentionSaved::State& state = *saved.state_;
  if (!params_ || state.params_id != params_id_) {
    return value_error(kOperation, "saved",
                       "of another layer or of parameters since changed",
                       "one of this layer as it is");
  }
  HEADWISE_TRY(check_shape(kOperation, "d_output", d_output.extents(),
                           "(B, Lq, E)", saved.result_.output.extents()));
  auto gradients = differentiate(saved, d_output, d_attn_weights);
  if (gradients) {
    memory_->give({std::move(saved.state_->run.projected),
                   std::move(saved.state_->run.merged),
                   {}});
    saved.state_.reset();
  }
  return gradients;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
