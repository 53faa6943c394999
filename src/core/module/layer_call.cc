#include "module/layer_call.h"

#include "base/check.h"
#include "base/check_exact.h"
#include "headwise/steps/head_gates.h"
#include "module/check_config.h"
#include "steps/check_head_gates.h"

namespace headwise::internal::inline HEADWISE_ABI {

namespace {

Status check_positions(const LayerState& layer, const LayerOptions& given) {
  const HeadPositions& positions = given.positions;
  for (const auto& [name, is_given] :
       {std::pair("query_positions",
                  positions.query_positions.data() != nullptr),
        {"key_positions", positions.key_positions.data() != nullptr},
        {"rotary", given.rotary != nullptr}}) {
    if (is_given && !layer.config.rotary) {
      return value_error(kLayerOperation, name, "given",
                         "a layer with rotary positions");
    }
  }
  return given.rotary == nullptr
             ? ok()
             : check_rotary(*given.rotary, *layer.config.head_dim);
}

}  // namespace

Status check_inputs(const LayerState& layer, const LayerInputs& inputs) {
  const MultiHeadAttentionConfig& config = layer.config;
  HEADWISE_TRY(check_no_open_size(config));
  const auto [B, Lq, query_dim] = inputs.query.extents();
  const std::size_t Lkv = inputs.key.extent(1);
  HEADWISE_TRY(check_shape(kLayerOperation, "query", inputs.query.extents(),
                           "(B, Lq, query_dim)", {{B, Lq, *config.query_dim}}));
  HEADWISE_TRY(check_shape(kLayerOperation, "key", inputs.key.extents(),
                           "(B, Lkv, kdim)", {{B, Lkv, *config.kdim}}));
  return check_shape(kLayerOperation, "value", inputs.value.extents(),
                     "(B, Lkv, vdim)", {{B, Lkv, *config.vdim}});
}

Status check_layer_options(const LayerState& layer,
                           const LayerOptions& options) {
  HEADWISE_TRY(check_positions(layer, options));
  if (options.statistics.data() != nullptr && options.cache == nullptr) {
    return value_error(kLayerOperation, "statistics", "given",
                       "a cache with them");
  }
  return options.head_gates.data() == nullptr
             ? ok()
             : internal::check_head_gates(kLayerOperation, options.head_gates,
                                          layer.config.num_heads);
}

Status check_training_dropout(const Dropout& dropout) {
  if (dropout.p.value_or(0) == 0 || dropout.keep_mask.data() != nullptr) {
    return ok();
  }
  if (!dropout.training) {
    return value_error(kLayerOperation, "dropout.training", "false",
                       "true, or dropout.p = 0 for a pass without dropout");
  }
  return dropout.step ? ok()
                      : Status(argument_error(
                            kLayerOperation, "dropout.step", "is not given",
                            "the number of the training step: each step "
                            "drops other weights"));
}

const Rotary* rotary_of(const LayerState& layer, const LayerOptions& options) {
  const std::optional<Rotary>& own = layer.config.rotary;
  return options.rotary != nullptr ? options.rotary : own ? &*own : nullptr;
}

AttentionOptions options_of(const LayerState& layer, const LayerCall& call) {
  AttentionOptions options = call.options;
  if (layer.config.arithmetic != Arithmetic::exact) {
    options.arithmetic = layer.config.arithmetic;
  }
  options.dropout.p = options.dropout.p.value_or(layer.config.dropout);
  return options;
}

OperationOptions operation_options_of(const MultiHeadAttentionConfig& config,
                                      const MultiHeadAttentionParams& params,
                                      const HeadGroups& kv_groups) {
  OperationOptions options{.kv_groups = kv_groups};
  if (params.w_score) {
    options.score_weight = params.w_score->view();
  }
  if (params.bias_k) {
    const std::size_t heads = *config.num_kv_heads;
    options.added_keys.bias_k = {params.bias_k->data(),
                                 {heads, *config.head_dim}};
    options.added_keys.bias_v = {params.bias_v->data(),
                                 {heads, *config.v_head_dim}};
  }
  options.added_keys.zero_attn = config.add_zero_attn;
  return options;
}

OperationOptions operation_options_of(const LayerState& layer) {
  return operation_options_of(layer.config, *layer.params, layer.kv_groups);
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

Status check_arithmetic(const LayerState& layer, const LayerCall& call) {
  const Arithmetic arithmetic = layer.config.arithmetic;
  HEADWISE_TRY(check_arithmetic_of_layer(kLayerOperation, arithmetic,
                                         call.options.arithmetic));
  return call.trace == nullptr
             ? ok()
             : check_exact(kLayerOperation, arithmetic, "a trace");
}

Status check_output(const LayerState& layer, const AttentionOptions& options,
                    const Extents<3>& query, const TensorArg& output) {
  for (const auto& [name, wanted] :
       {std::pair("attn_weights", options.attn_weights != AttnWeights::none),
        {"scores", options.scores != ScoresStage::none}}) {
    if (wanted) {
      return value_error(kLayerOperation, name, "asked for",
                         "none: only the output is written");
    }
  }
  const auto [B, Lq, query_dim] = query;
  HEADWISE_TRY(check_shape(kLayerOperation, "output", output.extents(),
                           "(B, Lq, embed_dim)",
                           {{B, Lq, layer.config.embed_dim}}));
  if (output.strides()[2] != 1) {
    return value_error(kLayerOperation, "output", "strided",
                       "contiguous features");
  }
  return ok();
}

Result<PlannedCall> plan_of(const LayerState& layer, const LayerInputs& inputs,
                            const AttentionOptions& options) {
  const MultiHeadAttentionConfig& config = layer.config;
  return PlannedCall::create({.B = inputs.query.extent(0),
                              .Hq = config.num_heads,
                              .Hkv = *config.num_kv_heads,
                              .Lq = inputs.query.extent(1),
                              .Lkv = inputs.key.extent(1),
                              .D = *config.head_dim,
                              .Dv = *config.v_head_dim},
                             options, operation_options_of(layer));
}

Result<PairsWithoutHeads> pairs_without_heads(const LayerCall& call) {
  const std::size_t Lq = call.inputs.query.extent(1);
  const std::size_t Lkv = call.inputs.key.extent(1);
  const Offsets& offsets = call.options.offsets;
  if (offsets.ragged()) {
    HEADWISE_TRY(offsets.check(Lq, Lkv, kLayerOperation));
  }
  if (call.options.attn_weights == AttnWeights::mean) {
    return value_error(kLayerOperation, "attn_weights", "mean",
                       "per_head in a layer without heads");
  }
  const Extents<4> all =
      offsets.ragged()
          ? Extents<4>{offsets.sequences(), 0, longest(offsets.query),
                       longest(offsets.key)}
          : Extents<4>{call.inputs.query.extent(0), 0, Lq, Lkv};
  const auto wanted = [&](bool asked) { return asked ? all : Extents<4>{}; };
  return PairsWithoutHeads{
      wanted(call.options.attn_weights != AttnWeights::none),
      wanted(call.options.scores != ScoresStage::none)};
}

}  // namespace headwise::inline HEADWISE_ABI
