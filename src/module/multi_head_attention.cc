#include "headwise/module/multi_head_attention.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "module/check_config.h"
#include "module/layer_call.h"
#include "module/layer_params.h"
#include "module/layer_run.h"
#include "module/layer_state.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A layer without parameters. Errors: those of HeadGroups::create.
Result<LayerState> new_layer(MultiHeadAttentionConfig config, Seed seed) {
  auto kv_groups = HeadGroups::create(config.kv_group_sizes);
  HEADWISE_TRY(kv_groups);
  return LayerState{.config = std::move(config),
                    .kv_groups = *std::move(kv_groups),
                    .seed = seed,
                    .memory = std::make_shared<LayerMemoryShelf>()};
}

MultiHeadAttentionConfig config_of(const MultiHeadAttentionParams& params,
                                   HeadCounts heads, std::size_t v_head_dim) {
  const std::size_t num_heads = heads.num_heads;
  const std::size_t kv_heads = kv_heads_of(heads);
  return {
      .embed_dim =
          params.w_o ? params.w_o->out_features() : num_heads * v_head_dim,
      .num_heads = num_heads,
      .num_kv_heads = kv_heads,
      .kv_group_sizes = std::move(heads.kv_group_sizes),
      .dropout = heads.dropout,
      .bias = params.w_q.has_bias(),
      .query_dim = params.w_q.in_features(),
      .kdim = params.w_k.in_features(),
      .vdim = params.w_v ? params.w_v->in_features() : kv_heads * v_head_dim,
      .head_dim = num_heads == 0 ? 0 : params.w_q.out_features() / num_heads,
      .v_head_dim = v_head_dim,
      .out_proj = params.w_o.has_value(),
      .value_proj = params.w_v.has_value(),
      .scoring = params.w_score ? Scoring::additive : Scoring::dot,
      .rotary = std::move(heads.rotary)};
}

}  // namespace

struct MultiHeadAttentionSaved::State {
  LayerInputs inputs;
  LayerRun run;  // its result is result_
  std::uint64_t params_id;
};

void MultiHeadAttentionSaved::Delete::operator()(State* state) const {
  delete state;
}

void MultiHeadAttention::Delete::operator()(State* state) const {
  delete state;
}

// ---- How a layer is made. ----

Result<MultiHeadAttention> MultiHeadAttention::create(
    const MultiHeadAttentionConfig& config, Seed seed) try {
  auto filled = complete_config(config);
  HEADWISE_TRY(filled);
  auto layer = new_layer(*std::move(filled), seed);
  HEADWISE_TRY(layer);
  if (open_size(layer->config).empty()) {
    auto params = draw_params(layer->config, seed);
    HEADWISE_TRY(params);
    set_params(*layer, *std::move(params));
  }
  return MultiHeadAttention(
      std::unique_ptr<State, Delete>(new State{*std::move(layer)}));
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, std::size_t num_heads,
    std::optional<std::size_t> num_kv_heads,
    std::optional<std::size_t> vdim) try {
  return from_params(
      std::move(params),
      {.num_heads = num_heads, .num_kv_heads = num_kv_heads, .vdim = vdim});
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, HeadCounts heads) try {
  const auto v_head_dim = check_params(params, heads);
  HEADWISE_TRY(v_head_dim);
  auto layer =
      new_layer(config_of(params, std::move(heads), *v_head_dim), Seed{});
  HEADWISE_TRY(layer);
  set_params(*layer, std::move(params));
  return MultiHeadAttention(
      std::unique_ptr<State, Delete>(new State{*std::move(layer)}));
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::fix_sizes(const InputSizes& sizes) try {
  auto config = with_sizes(state_->config, sizes);
  HEADWISE_TRY(config);
  if (!state_->params) {
    auto params = draw_params(*config, state_->seed);
    HEADWISE_TRY(params);
    state_->config = *std::move(config);
    set_params(*state_, *std::move(params));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::set_rotary(std::optional<Rotary> rotary) try {
  HEADWISE_TRY(check_rotary(rotary, *state_->config.head_dim));
  state_->config.rotary = std::move(rotary);
  give_new_id(*state_);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

const MultiHeadAttentionConfig& MultiHeadAttention::config() const {
  return state_->config;
}

const std::optional<MultiHeadAttentionParams>& MultiHeadAttention::params()
    const {
  return state_->params;
}

void MultiHeadAttention::share_memory_with(const MultiHeadAttention& other) {
  state_->memory = other.state_->memory;
}

Status MultiHeadAttention::update(
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  HEADWISE_TRY(check_no_open_size(state_->config));
  return update_params(*state_, change);
}

// ---- The forward pass. ----

Result<MultiHeadAttentionResult<3>> MultiHeadAttention::forward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    const LayerOptions& layer_options, TraceSink* trace) const try {
  auto run = run_layer(*state_, {.inputs = {query, key, value},
                                 .options = options,
                                 .layer_options = layer_options,
                                 .trace = trace});
  HEADWISE_TRY(run);
  return std::move(run->result);
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttentionResult<2>> MultiHeadAttention::forward(
    TensorView<const float, 2> query, TensorView<const float, 2> key,
    TensorView<const float, 2> value, const AttentionOptions& options,
    const LayerOptions& layer_options, TraceSink* trace) const try {
  if (options.offsets.ragged() && options.attn_weights != AttnWeights::none) {
    return argument_error(
        kLayerOperation, "attn_weights", "have an axis B in a ragged batch",
        "query, key and value of shape (1, rows, E)", ErrorCode::unsupported);
  }
  auto batched = forward(as_batch_of_one(query), as_batch_of_one(key),
                         as_batch_of_one(value), options, layer_options, trace);
  HEADWISE_TRY(batched);
  MultiHeadAttentionResult<2> result{std::move(batched->output).without_batch(),
                                     {},
                                     std::move(batched->lse).without_batch()};
  if (options.attn_weights != AttnWeights::none) {
    result.attn_weights = std::move(batched->attn_weights).without_batch();
  }
  return result;
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::forward_into(TensorView<const float, 3> query,
                                        TensorView<const float, 3> key,
                                        TensorView<const float, 3> value,
                                        TensorView<float, 3> output,
                                        const AttentionOptions& options,
                                        const LayerOptions& layer_options) const
    try {
  const LayerCall call{.inputs = {query, key, value},
                       .options = options,
                       .layer_options = layer_options,
                       .output = output};
  HEADWISE_TRY(check_output(*state_, call));
  HEADWISE_TRY(run_layer(*state_, call));
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

// ---- The backward pass. ----

Result<MultiHeadAttentionSaved> MultiHeadAttention::forward_for_backward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    const LayerOptions& layer_options) const try {
  const LayerInputs inputs{query, key, value};
  auto run = run_layer(*state_, {.inputs = inputs,
                                 .options = options,
                                 .layer_options = layer_options,
                                 .for_backward = true});
  HEADWISE_TRY(run);
  MultiHeadAttentionSaved saved;
  saved.result_ = std::move(run->result);
  saved.state_.reset(new MultiHeadAttentionSaved::State{inputs, *std::move(run),
                                                        state_->params_id});
  return saved;
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttentionGradients> MultiHeadAttention::backward(
    MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) const try {
  if (!saved.state_) {
    return value_error(kLayerOperation, "saved", "used already",
                       "one of forward_for_backward() for each backward()");
  }
  MultiHeadAttentionSaved::State& kept = *saved.state_;
  if (!state_->params || kept.params_id != state_->params_id) {
    return value_error(kLayerOperation, "saved",
                       "of another layer or of parameters since changed",
                       "one of this layer with its present parameters");
  }
  const Tensor<float, 3>& output = saved.result().output;
  HEADWISE_TRY(check_shape(kLayerOperation, "d_output", d_output.extents(),
                           "(B, Lq, E)", output.extents()));
  auto gradients =
      differentiate_layer(*state_, {kept.inputs, kept.run, output.view()},
                          d_output, d_attn_weights);
  if (gradients) {
    state_->memory->give(
        {std::move(kept.run.projected), std::move(kept.run.merged), {}});
    saved.state_.reset();
  }
  return gradients;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
