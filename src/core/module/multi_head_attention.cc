#include "headwise/module/multi_head_attention.h"

#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/for_number_type.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "module/check_config.h"
#include "module/layer_call.h"
#include "module/layer_params.h"
#include "module/layer_run.h"
#include "module/layer_state.h"
#include "module/widened_inputs.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A layer without parameters. Errors: those of HeadGroups::create.
Result<LayerState> new_layer(MultiHeadAttentionConfig config, Seed seed) {
  HEADWISE_ASSIGN(auto kv_groups, HeadGroups::create(config.kv_group_sizes));
  return LayerState{.config = std::move(config),
                    .kv_groups = std::move(kv_groups),
                    .seed = seed,
                    .memory = std::make_shared<LayerMemoryShelf>()};
}

MultiHeadAttentionConfig config_of(const MultiHeadAttentionParams& params,
                                   HeadCounts heads, std::size_t v_head_dim) {
  if (params.q_norm) {
    heads.qk_norm->bias = params.q_norm->bias.size() != 0;
  }
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
      .qk_norm = params.q_norm ? heads.qk_norm : std::nullopt,
      .rotary = std::move(heads.rotary),
      .add_bias_kv = params.bias_k.has_value(),
      .add_zero_attn = heads.add_zero_attn,
      .arithmetic = params.w_q.arithmetic()};
}

}  // namespace

struct detail::SavedLayer {
  WidenedInputs inputs;
  LayerRun run;  // its result is in MultiHeadAttentionSavedOf
  std::uint64_t params_id;
};

// ---- How a layer is made. ----

Result<MultiHeadAttention> MultiHeadAttention::create(
    const MultiHeadAttentionConfig& config, Seed seed) try {
  HEADWISE_ASSIGN(auto filled, complete_config(config));
  HEADWISE_ASSIGN(auto layer, new_layer(std::move(filled), seed));
  if (open_size(layer.config).empty()) {
    HEADWISE_ASSIGN(auto params, draw_params(layer.config, seed));
    set_params(layer, std::move(params));
  }
  return MultiHeadAttention(std::make_unique<State>(State{std::move(layer)}));
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, HeadCounts heads) try {
  HEADWISE_ASSIGN(const auto v_head_dim, check_params(params, heads));
  HEADWISE_ASSIGN(
      auto layer,
      new_layer(config_of(params, std::move(heads), v_head_dim), Seed{}));
  set_params(layer, std::move(params));
  return MultiHeadAttention(std::make_unique<State>(State{std::move(layer)}));
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::fix_sizes(const InputSizes& sizes) try {
  HEADWISE_ASSIGN(auto config, with_sizes(state_->config, sizes));
  if (!state_->params) {
    HEADWISE_ASSIGN(auto params, draw_params(config, state_->seed));
    state_->config = std::move(config);
    set_params(*state_, std::move(params));
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

Status MultiHeadAttention::set_arithmetic(Arithmetic arithmetic) try {
  if (arithmetic == state_->config.arithmetic) {
    return ok();
  }
  if (state_->params) {
    if (arithmetic == Arithmetic::exact && !keeps_params(*state_->params)) {
      return value_error(kLayerOperation, "arithmetic", "exact",
                         "bf16: the layer's parameters are rounded already");
    }
    HEADWISE_TRY(headwise::set_arithmetic(*state_->params, arithmetic));
  }
  state_->config.arithmetic = arithmetic;
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

namespace {

// The result with its output in the type of the inputs.
template <class T, std::size_t Rank>
Result<MultiHeadAttentionResult<Rank, T>> narrow_result(
    MultiHeadAttentionResult<Rank> result, const Executor& executor) {
  HEADWISE_ASSIGN(auto output, narrow<T>(std::move(result.output), executor));
  return MultiHeadAttentionResult<Rank, T>{
      std::move(output), std::move(result.attn_weights), std::move(result.lse),
      std::move(result.scores)};
}

template <class T>
Result<MultiHeadAttentionResult<3, T>> forward_of(
    const LayerState& layer, const LayerInputsOf<T>& in,
    const AttentionOptions& options, const LayerOptions& layer_options,
    TraceSink* trace) {
  const Executor& executor = executor_of(options);
  HEADWISE_ASSIGN(const auto inputs, WidenedInputs::create(in, executor));
  HEADWISE_ASSIGN(auto run, run_layer(layer, {.inputs = inputs.views(),
                                              .options = options,
                                              .layer_options = layer_options,
                                              .trace = trace}));
  return narrow_result<T>(std::move(run.result), executor);
}

// Of a batch of one.
template <class T>
Result<MultiHeadAttentionResult<2, T>> forward_unbatched(
    const LayerState& layer, const LayerInputsOf<T>& in,
    const AttentionOptions& options, const LayerOptions& layer_options,
    TraceSink* trace) {
  for (const auto& [name, wanted] :
       {std::pair("attn_weights", options.attn_weights != AttnWeights::none),
        {"scores", options.scores != ScoresStage::none}}) {
    if (options.offsets.ragged() && wanted) {
      return argument_error(
          kLayerOperation, name, "have an axis B in a ragged batch",
          "query, key and value of shape (1, rows, E)", ErrorCode::unsupported);
    }
  }
  HEADWISE_ASSIGN(auto batched,
                  forward_of(layer, in, options, layer_options, trace));
  MultiHeadAttentionResult<2, T> result{
      std::move(batched.output).without_batch(),
      {},
      std::move(batched.lse).without_batch()};
  if (options.attn_weights != AttnWeights::none) {
    result.attn_weights = std::move(batched.attn_weights).without_batch();
  }
  if (options.scores != ScoresStage::none) {
    result.scores = std::move(batched.scores).without_batch();
  }
  return result;
}

template <class T>
Status forward_to(const LayerState& layer, const LayerInputsOf<T>& in,
                  TensorView<T, 3> output, const AttentionOptions& options,
                  const LayerOptions& layer_options) {
  HEADWISE_TRY(check_output(layer, options, in.query.extents(), output));
  HEADWISE_TRY(check_overlap(kLayerOperation, {{"output", Footprint(output)}},
                             {{"query", Footprint(in.query)},
                              {"key", Footprint(in.key)},
                              {"value", Footprint(in.value)}}));
  const Executor& executor = executor_of(options);
  HEADWISE_ASSIGN(const auto inputs, WidenedInputs::create(in, executor));
  LayerCall call{.inputs = inputs.views(),
                 .options = options,
                 .layer_options = layer_options};
  if constexpr (std::is_same_v<T, float>) {
    call.output = output;
  }
  HEADWISE_ASSIGN(const auto run, run_layer(layer, call));
  if constexpr (!std::is_same_v<T, float>) {
    narrow_into(run.result.output.view(), output, executor);
  }
  return ok();
}

// ---- The backward pass. ----

Status check_saved(const LayerState& layer, const detail::SavedLayer* saved) {
  if (saved == nullptr) {
    return value_error(kLayerOperation, "saved", "used already",
                       "one of forward_for_backward() for each backward()");
  }
  if (!layer.params || saved->params_id != layer.params_id) {
    return value_error(kLayerOperation, "saved",
                       "of another layer or of parameters since changed",
                       "one of this layer with its present parameters");
  }
  return ok();
}

}  // namespace

template <class T>
Result<MultiHeadAttentionSavedOf<T>> MultiHeadAttention::save(
    TensorView<const T, 3> query, TensorView<const T, 3> key,
    TensorView<const T, 3> value, const AttentionOptions& options,
    const LayerOptions& layer_options) const {
  HEADWISE_TRY(check_training_dropout(
      options_of(
          *state_,
          {.inputs = {}, .options = options, .layer_options = layer_options})
          .dropout));
  const Executor& executor = executor_of(options);
  HEADWISE_ASSIGN(
      auto inputs,
      WidenedInputs::create(LayerInputsOf<T>{query, key, value}, executor));
  HEADWISE_ASSIGN(auto run, run_layer(*state_, {.inputs = inputs.views(),
                                                .options = options,
                                                .layer_options = layer_options,
                                                .for_backward = true}));
  HEADWISE_ASSIGN(auto result,
                  narrow_result<T>(std::move(run.result), executor));
  MultiHeadAttentionSavedOf<T> saved;
  saved.result_ = std::move(result);
  saved.state_ = std::make_unique<detail::SavedLayer>(
      detail::SavedLayer{std::move(inputs), std::move(run), state_->params_id});
  return saved;
}

template <class T>
Result<MultiHeadAttentionGradientsOf<T>> MultiHeadAttention::differentiate(
    MultiHeadAttentionSavedOf<T>& saved, TensorView<const T, 3> d_output,
    TensorView<const float, 4> d_attn_weights, ParamTerms* terms) const {
  HEADWISE_TRY(check_saved(*state_, saved.state_.get()));
  const TensorView<const T, 3> output = saved.result().output.view();
  HEADWISE_TRY(check_shape(kLayerOperation, "d_output", d_output.extents(),
                           "(B, Lq, E)", output.extents()));
  detail::SavedLayer& kept = *saved.state_;
  const Executor& executor = executor_of(kept.run.options);
  HEADWISE_ASSIGN(const auto wide_output, Widened::create(output, executor));
  HEADWISE_ASSIGN(const auto wide_d_output,
                  Widened::create(d_output, executor));
  HEADWISE_ASSIGN(
      auto gradients,
      differentiate_layer(
          *state_, {kept.inputs.views(), kept.run, wide_output.view(), terms},
          wide_d_output.view(), d_attn_weights));
  HEADWISE_ASSIGN(auto narrowed,
                  narrow_gradients<T>(std::move(gradients), executor));
  state_->memory->give(
      {std::move(kept.run.projected), std::move(kept.run.merged), {}});
  saved.state_.reset();
  return narrowed;
}

Status MultiHeadAttention::write_output(
    const TensorArg& query, const TensorArg& key, const TensorArg& value,
    const TensorArg& output, const AttentionOptions& options,
    const LayerOptions& layer_options) const try {
  return for_number_type(query.dtype(), [&]<class T>(T) {
    const auto read = [](const TensorArg& tensor) {
      return tensor.view<const T, 3>();
    };
    return forward_to<T>(*state_, {read(query), read(key), read(value)},
                         output.view<T, 3>(), options, layer_options);
  });
} catch (...) {
  return caught_out_of_memory();
}

// ---- Each of them for each type. ----

#define HEADWISE_LAYER(T)                                                      \
  Result<MultiHeadAttentionResult<3, T>> MultiHeadAttention::forward(          \
      TensorView<const T, 3> query, TensorView<const T, 3> key,                \
      TensorView<const T, 3> value, const AttentionOptions& options,           \
      const LayerOptions& layer_options, TraceSink* trace) const try {         \
    return forward_of<T>(*state_, {query, key, value}, options, layer_options, \
                         trace);                                               \
  } catch (...) {                                                              \
    return caught_out_of_memory();                                             \
  }                                                                            \
  Result<MultiHeadAttentionResult<2, T>> MultiHeadAttention::forward(          \
      TensorView<const T, 2> query, TensorView<const T, 2> key,                \
      TensorView<const T, 2> value, const AttentionOptions& options,           \
      const LayerOptions& layer_options, TraceSink* trace) const try {         \
    return forward_unbatched<T>(*state_,                                       \
                                {as_batch_of_one(query), as_batch_of_one(key), \
                                 as_batch_of_one(value)},                      \
                                options, layer_options, trace);                \
  } catch (...) {                                                              \
    return caught_out_of_memory();                                             \
  }                                                                            \
  Result<MultiHeadAttentionSavedOf<T>>                                         \
  MultiHeadAttention::forward_for_backward(                                    \
      TensorView<const T, 3> query, TensorView<const T, 3> key,                \
      TensorView<const T, 3> value, const AttentionOptions& options,           \
      const LayerOptions& layer_options) const try {                           \
    return save<T>(query, key, value, options, layer_options);                 \
  } catch (...) {                                                              \
    return caught_out_of_memory();                                             \
  }                                                                            \
  Result<MultiHeadAttentionGradientsOf<T>> MultiHeadAttention::backward(       \
      MultiHeadAttentionSavedOf<T>& saved, TensorView<const T, 3> d_output,    \
      TensorView<const float, 4> d_attn_weights, ParamTerms* terms)            \
      const try {                                                              \
    return differentiate<T>(saved, d_output, d_attn_weights, terms);           \
  } catch (...) {                                                              \
    return caught_out_of_memory();                                             \
  }
HEADWISE_LAYER(float)
HEADWISE_LAYER(BFloat16)
HEADWISE_LAYER(Float16)
#undef HEADWISE_LAYER

}  // namespace headwise::inline HEADWISE_ABI
