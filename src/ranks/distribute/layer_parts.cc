#include "distribute/layer_parts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/copy_of.h"
#include "distribute/feature_shares.h"
#include "distribute/head_shards.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kLayerParts = "layer_shard";

Status check_params(const std::optional<MultiHeadAttentionParams>& params) {
  if (!params) {
    return value_error(kLayerParts, "layer", "one with an open input size",
                       "one whose input sizes are known: call fix_sizes()");
  }
  return keeps_params(*params)
             ? ok()
             : Status(value_error(
                   kLayerParts, "layer", "one that was kept for inference",
                   "one with its parameters as given", ErrorCode::unsupported));
}

Status check_layer(const MultiHeadAttention& layer, std::size_t ranks,
                   std::size_t rank) {
  const MultiHeadAttentionConfig& config = layer.config();
  HEADWISE_TRY(check_rank_numbers(kLayerParts, ranks, rank));
  HEADWISE_TRY(check_params(layer.params()));
  if (config.num_heads == 0) {
    return value_error(kLayerParts, "num_heads", "0", "a layer with heads");
  }
  return config.qk_norm && config.qk_norm->over == NormOver::projection
             ? Status(value_error(
                   kLayerParts, "qk_norm", "over the whole projection",
                   "one of each head: a rank does not have all heads",
                   ErrorCode::unsupported))
             : ok();
}

LayerRanges ranges_of(const MultiHeadAttention& layer,
                      const HeadGroups& kv_groups, std::size_t ranks) {
  const MultiHeadAttentionConfig& config = layer.config();
  const std::size_t kv_heads = *config.num_kv_heads;
  const HeadMap map(config.num_heads, kv_heads, kv_groups);
  LayerRanges ranges;
  for (const HeadRange& kv : head_shards({.ranks = ranks,
                             .heads = config.num_heads,
                             .kv_heads = kv_heads,
                             .kv_groups = kv_groups})) {
    const std::size_t first = map.first(kv.first);
    ranges.kv_heads.push_back({kv.first, kv.count});
    ranges.heads.push_back({first, map.first(kv.first + kv.count) - first});
  }
  ranges.outputs = feature_ranges(
      config.out_proj ? layer.params()->w_o->out_features() : 0, ranks);
  ranges.query = feature_ranges(*config.query_dim, ranks);
  ranges.key = feature_ranges(*config.kdim, ranks);
  ranges.value = feature_ranges(*config.vdim, ranks);
  return ranges;
}

// A range of heads as features.
PartRange times(const PartRange& heads, std::size_t size) {
  return {heads.first * size, heads.count * size};
}

// The packed parameters alone, in the arithmetic of `whole`.
Result<Linear> packed_as(const Linear& whole, Linear part) {
  Linear packed = std::move(part).for_inference();
  return whole.arithmetic() == Arithmetic::bf16 ? packed.in_bf16()
                                                : std::move(packed);
}

// The output features `rows`.
Result<Linear> linear_rows(const Linear& linear, const PartRange& rows) {
  HEADWISE_ASSIGN(auto weight, copy_of(part_along(0, linear.weight(), rows)));
  Tensor<float, 1> bias;
  if (linear.has_bias()) {
    HEADWISE_ASSIGN(bias, copy_of(part_along(0, linear.bias(), rows)));
  }
  HEADWISE_ASSIGN(auto part,
                  Linear::from_params(std::move(weight), std::move(bias)));
  return packed_as(linear, std::move(part));
}

// The input features `columns`, as the projection of the gradients.
Result<Linear> columns_of(const Linear& linear, const PartRange& columns) {
  const TensorView<const float, 2> some =
      part_along(1, linear.weight(), columns);
  HEADWISE_ASSIGN(auto turned,
                  copy_of(TensorView<const float, 2>(
                      some.data(), {some.extent(1), some.extent(0)},
                      {some.stride(1), some.stride(0)})));
  HEADWISE_ASSIGN(auto part, Linear::from_params(std::move(turned)));
  return packed_as(linear, std::move(part));
}

using OptionalLinear = std::optional<Linear>;

Result<OptionalLinear> optional_part(const OptionalLinear& linear,
                                     const PartRange& range,
                                     Result<Linear> (*part)(const Linear&,
                                                            const PartRange&)) {
  if (!linear) {
    return OptionalLinear();
  }
  HEADWISE_ASSIGN(auto made, part(*linear, range));
  return OptionalLinear(std::move(made));
}

template <std::size_t Rank>
Result<std::optional<Tensor<float, Rank>>> optional_rows(
    const std::optional<Tensor<float, Rank>>& tensor, const PartRange& rows) {
  if (!tensor) {
    return std::optional<Tensor<float, Rank>>();
  }
  HEADWISE_ASSIGN(auto copy, copy_of(part_along(0, tensor->view(), rows)));
  return std::optional<Tensor<float, Rank>>(std::move(copy));
}

Result<std::optional<HeadNormParams>> norm_of(
    const std::optional<HeadNormParams>& params, const PartRange& features) {
  if (!params) {
    return std::optional<HeadNormParams>();
  }
  HEADWISE_ASSIGN(auto weight,
                  copy_of(part_along(0, params->weight.view(), features)));
  HeadNormParams copy{std::move(weight)};
  if (params->bias.size() != 0) {
    HEADWISE_ASSIGN(copy.bias,
                    copy_of(part_along(0, params->bias.view(), features)));
  }
  return std::optional(std::move(copy));
}

// What a LayerState has of the parameters that are not projections.
Status add_small_params(const MultiHeadAttention& layer, const PartRange& heads,
                        const PartRange& kv_heads,
                        MultiHeadAttentionParams& to) {
  const MultiHeadAttentionParams& from = *layer.params();
  const std::size_t D = *layer.config().head_dim;
  const bool shared =
      layer.config().qk_norm && layer.config().qk_norm->over == NormOver::head;
  HEADWISE_ASSIGN(to.w_score, optional_rows(from.w_score, heads));
  HEADWISE_ASSIGN(to.q_norm, norm_of(from.q_norm, shared ? PartRange{0, D}
                                                         : times(heads, D)));
  HEADWISE_ASSIGN(to.k_norm, norm_of(from.k_norm, shared ? PartRange{0, D}
                                                         : times(kv_heads, D)));
  HEADWISE_ASSIGN(to.bias_k, optional_rows(from.bias_k, times(kv_heads, D)));
  HEADWISE_ASSIGN(
      to.bias_v,
      optional_rows(from.bias_v, times(kv_heads, *layer.config().v_head_dim)));
  return ok();
}

LayerState state_of(MultiHeadAttentionConfig config, HeadGroups kv_groups,
                    MultiHeadAttentionParams params) {
  return {.config = std::move(config),
          .kv_groups = std::move(kv_groups),
          .seed = {},
          .params = std::move(params),
          .memory = std::make_shared<LayerMemoryShelf>()};
}

Result<LayerState> without_projections(const MultiHeadAttention& layer,
                                       HeadGroups kv_groups) {
  const MultiHeadAttentionConfig& config = layer.config();
  auto w_q = linear_rows(layer.params()->w_q, {});
  auto w_k = linear_rows(layer.params()->w_k, {});
  HEADWISE_TRY(w_q);
  HEADWISE_TRY(w_k);
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k)};
  HEADWISE_TRY(add_small_params(layer, {0, config.num_heads},
                                {0, *config.num_kv_heads}, params));
  return state_of(config, std::move(kv_groups), std::move(params));
}

Result<LayerState> heads_of(const MultiHeadAttention& layer,
                            const PartRange& heads, const PartRange& kv_heads) {
  MultiHeadAttentionConfig config = layer.config();
  const std::size_t D = *config.head_dim;
  const std::size_t Dv = *config.v_head_dim;
  config.num_heads = heads.count;
  config.num_kv_heads = kv_heads.count;
  if (!config.kv_group_sizes.empty()) {
    const auto first = config.kv_group_sizes.begin() +
                       static_cast<std::ptrdiff_t>(kv_heads.first);
    config.kv_group_sizes = std::vector<std::size_t>(
        first, first + static_cast<std::ptrdiff_t>(kv_heads.count));
  }
  config.out_proj = false;
  config.embed_dim = heads.count * Dv;
  config.vdim = config.value_proj ? config.vdim : kv_heads.count * Dv;
  HEADWISE_ASSIGN(auto kv_groups, HeadGroups::create(config.kv_group_sizes));
  const MultiHeadAttentionParams& from = *layer.params();
  HEADWISE_ASSIGN(auto w_q, linear_rows(from.w_q, times(heads, D)));
  HEADWISE_ASSIGN(auto w_k, linear_rows(from.w_k, times(kv_heads, D)));
  HEADWISE_ASSIGN(auto w_v,
                  optional_part(from.w_v, times(kv_heads, Dv), linear_rows));
  MultiHeadAttentionParams params{std::move(w_q), std::move(w_k),
                                  std::move(w_v)};
  HEADWISE_TRY(add_small_params(layer, heads, kv_heads, params));
  return state_of(std::move(config), std::move(kv_groups), std::move(params));
}

Result<LayerColumns> columns_of_rank(const MultiHeadAttention& layer,
                                     const LayerRanges& ranges,
                                     std::size_t rank) {
  const MultiHeadAttentionParams& from = *layer.params();
  HEADWISE_ASSIGN(auto w_q, columns_of(from.w_q, ranges.query[rank]));
  HEADWISE_ASSIGN(auto w_k, columns_of(from.w_k, ranges.key[rank]));
  HEADWISE_ASSIGN(auto w_v,
                  optional_part(from.w_v, ranges.value[rank], columns_of));
  HEADWISE_ASSIGN(auto w_o, optional_part(from.w_o,
                                          times(ranges.heads[rank],
                                                *layer.config().v_head_dim),
                                          columns_of));
  return LayerColumns{std::move(w_q), std::move(w_k), std::move(w_v),
                      std::move(w_o)};
}

std::size_t param_count(const Linear& linear) { return linear.packed().size(); }
std::size_t param_count(const std::optional<Linear>& linear) {
  return linear ? param_count(*linear) : 0;
}

// What MultiHeadAttentionParams and LayerColumns both have.
template <class Projections>
std::size_t numbers_of_inputs(const Projections& of) {
  return param_count(of.w_q) + param_count(of.w_k) + param_count(of.w_v);
}

}  // namespace

std::size_t LayerParts::bytes() const {
  const std::size_t forward = numbers_of_inputs(*own.params) + param_count(w_o);
  const std::size_t backward =
      columns ? numbers_of_inputs(*columns) + param_count(columns->w_o) : 0;
  return (forward + backward) * sizeof(float);
}

Result<LayerParts> parts_of_layer(const MultiHeadAttention& layer,
                                  std::size_t ranks, std::size_t rank,
                                  bool training) {
  HEADWISE_TRY(check_layer(layer, ranks, rank));
  HEADWISE_ASSIGN(auto kv_groups,
                  HeadGroups::create(layer.config().kv_group_sizes));
  LayerRanges ranges = ranges_of(layer, kv_groups, ranks);
  HEADWISE_ASSIGN(auto whole, without_projections(layer, std::move(kv_groups)));
  HEADWISE_ASSIGN(auto own,
                  heads_of(layer, ranges.heads[rank], ranges.kv_heads[rank]));
  const MultiHeadAttentionParams& params = *layer.params();
  HEADWISE_ASSIGN(auto w_o,
                  optional_part(params.w_o, ranges.outputs[rank], linear_rows));
  std::optional<LayerColumns> columns;
  if (training) {
    HEADWISE_ASSIGN(columns, columns_of_rank(layer, ranges, rank));
  }
  return LayerParts{.ranks = ranks,
                    .rank = rank,
                    .whole = std::move(whole),
                    .ranges = std::move(ranges),
                    .own = std::move(own),
                    .w_o = std::move(w_o),
                    .columns = std::move(columns),
                    .bias_q = params.w_q.has_bias(),
                    .bias_k = params.w_k.has_bias(),
                    .bias_v = params.w_v && params.w_v->has_bias(),
                    .bias_o = params.w_o && params.w_o->has_bias()};
}

}  // namespace headwise::inline HEADWISE_ABI
