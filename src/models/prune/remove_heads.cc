#include "headwise/prune/remove_heads.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/head_groups.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kRemoveHeads = "remove_heads";

std::vector<bool> marked(std::span<const std::size_t> heads,
                         std::size_t count) {
  std::vector<bool> gone(count);
  for (const std::size_t h : heads) {
    gone[h] = true;
  }
  return gone;
}

Status check_removed(const MultiHeadAttention& layer,
                     std::span<const std::size_t> heads) {
  const auto& params = layer.params();
  const MultiHeadAttentionConfig& config = layer.config();
  if (!params || !keeps_params(*params)) {
    return value_error(kRemoveHeads, "layer", "without the parameters as given",
                       "one that can be trained", ErrorCode::unsupported);
  }
  if (!params->w_o) {
    return value_error(kRemoveHeads, "layer", "without w_o",
                       "one whose output does not depend on its heads' number",
                       ErrorCode::unsupported);
  }
  if (config.qk_norm && config.qk_norm->over == NormOver::projection &&
      !heads.empty()) {
    return value_error(kRemoveHeads, "layer", "with a norm over the projection",
                       "one whose norms are those of heads",
                       ErrorCode::unsupported);
  }
  std::vector<bool> seen(config.num_heads);
  for (const std::size_t h : heads) {
    if (h >= config.num_heads) {
      return value_error(kRemoveHeads, "head", std::to_string(h),
                         message("below num_heads = {}", config.num_heads),
                         ErrorCode::out_of_range);
    }
    if (seen[h]) {
      return argument_error(kRemoveHeads, "head", message("is {} twice", h),
                            "each head once");
    }
    seen[h] = true;
  }
  return ok();
}

// Which heads of a layer stay, and how they are grouped.
struct Kept {
  std::vector<std::size_t> query;     // heads
  std::vector<std::size_t> kv;        // heads
  std::vector<std::size_t> of_group;  // query heads of each kept group
};

Kept kept_of(const HeadMap& map, std::size_t kv_heads,
             const std::vector<bool>& gone) {
  Kept kept;
  for (std::size_t g = 0; g < kv_heads; ++g) {
    const std::size_t before = kept.query.size();
    for (std::size_t h = map.first(g); h < map.first(g + 1); ++h) {
      if (!gone[h]) {
        kept.query.push_back(h);
      }
    }
    if (kept.query.size() != before) {
      kept.kv.push_back(g);
      kept.of_group.push_back(kept.query.size() - before);
    }
  }
  return kept;
}

// The rows [head * size, head * size + size) of the kept heads.
template <std::size_t Rank>
Result<Tensor<float, Rank>> kept_rows(TensorView<const float, Rank> all,
                                      const std::vector<std::size_t>& heads,
                                      std::size_t size) {
  Extents<Rank> extents = all.extents();
  extents[0] = heads.size() * size;
  const std::size_t count = size * (Rank == 1 ? 1 : extents[Rank - 1]);
  auto rows = Tensor<float, Rank>::create_unset(extents);
  for (std::size_t n = 0; rows && n < heads.size(); ++n) {
    std::copy_n(all.data() + heads[n] * count, count, rows->data() + n * count);
  }
  return rows;
}

Result<Linear> with_rows(const Linear& linear,
                         const std::vector<std::size_t>& heads,
                         std::size_t size) {
  HEADWISE_ASSIGN(auto weight, kept_rows(linear.weight(), heads, size));
  HEADWISE_ASSIGN(auto bias, linear.has_bias()
                                 ? kept_rows(linear.bias(), heads, size)
                                 : Tensor<float, 1>());
  return Linear::from_params(std::move(weight), std::move(bias));
}

// The columns of the kept heads, under this bias.
Result<Linear> with_columns(const Linear& linear,
                            const std::vector<std::size_t>& heads,
                            std::size_t size, Tensor<float, 1> bias) {
  const std::size_t out = linear.out_features();
  HEADWISE_ASSIGN(auto weight,
                  Tensor<float, 2>::create_unset({out, heads.size() * size}));
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t n = 0; n < heads.size() * size; ++n) {
      weight(o, n) = linear.weight()(o, heads[n / size] * size + n % size);
    }
  }
  return Linear::from_params(std::move(weight), std::move(bias));
}

// w_o's bias, and what the heads that go added to every output: a sum over the
// features of each head, added in their order, in binary64 and rounded once.
Result<Tensor<float, 1>> bias_without(const MultiHeadAttention& layer,
                                      const HeadMap& map,
                                      const std::vector<bool>& gone,
                                      ConstantPart constant) {
  const MultiHeadAttentionParams& params = *layer.params();
  const Linear& w_o = *params.w_o;
  // Next to added keys a head's weights do not sum to 1, so that what w_v's
  // bias adds is not constant.
  const bool sums_to_one =
      !layer.config().add_bias_kv && !layer.config().add_zero_attn;
  const bool adds = constant == ConstantPart::into_bias && params.w_v &&
                    params.w_v->has_bias() && sums_to_one &&
                    std::ranges::count(gone, true) != 0;
  auto bias = Tensor<float, 1>::create(
      {adds || w_o.has_bias() ? w_o.out_features() : 0});
  if (!bias) {
    return bias;
  }
  const std::size_t size = *layer.config().v_head_dim;
  const auto added = [&](std::size_t o, std::size_t h) {
    const std::size_t g = map.kv_head(h);
    double sum = 0;
    for (std::size_t d = 0; d < size; ++d) {
      sum += static_cast<double>(w_o.weight()(o, h * size + d)) *
             static_cast<double>(params.w_v->bias()(g * size + d));
    }
    return sum;
  };
  for (std::size_t o = 0; o < bias->size(); ++o) {
    double sum = w_o.has_bias() ? static_cast<double>(w_o.bias()(o)) : 0;
    for (std::size_t h = 0; adds && h < gone.size(); ++h) {
      sum += gone[h] ? added(o, h) : 0;
    }
    (*bias)(o) = static_cast<float>(sum);
  }
  return bias;
}

// The added key and value, if the layer has any and keeps a head.
Status add_added_keys(const MultiHeadAttention& layer, const Kept& kept,
                      MultiHeadAttentionParams& left) {
  const MultiHeadAttentionConfig& config = layer.config();
  if (!config.add_bias_kv || kept.query.empty()) {
    return ok();
  }
  const MultiHeadAttentionParams& params = *layer.params();
  HEADWISE_ASSIGN(left.bias_k,
                  kept_rows(params.bias_k->view(), kept.kv, *config.head_dim));
  HEADWISE_ASSIGN(left.bias_v, kept_rows(params.bias_v->view(), kept.kv,
                                         *config.v_head_dim));
  return ok();
}

// A norm's parameters of the kept heads.
Result<HeadNormParams> norm_of(const HeadNormParams& norm, NormOver over,
                               const std::vector<std::size_t>& heads,
                               std::size_t size) {
  const auto kept = [&](const Tensor<float, 1>& params) {
    return over == NormOver::each_head && params.size() != 0
               ? kept_rows(params.view(), heads, size)
               : params.clone();
  };
  HEADWISE_ASSIGN(auto weight, kept(norm.weight));
  HEADWISE_ASSIGN(auto bias, kept(norm.bias));
  return HeadNormParams{std::move(weight), std::move(bias)};
}

// The norms of the layer, if it has any and keeps a head.
Status add_norms(const MultiHeadAttention& layer, const Kept& kept,
                 MultiHeadAttentionParams& left) {
  const MultiHeadAttentionConfig& config = layer.config();
  if (!config.qk_norm || kept.query.empty()) {
    return ok();
  }
  const MultiHeadAttentionParams& params = *layer.params();
  const NormOver over = config.qk_norm->over;
  HEADWISE_ASSIGN(left.q_norm,
                  norm_of(*params.q_norm, over, kept.query, *config.head_dim));
  HEADWISE_ASSIGN(left.k_norm,
                  norm_of(*params.k_norm, over, kept.kv, *config.head_dim));
  return ok();
}

bool has_output_bias(const MultiHeadAttention& layer) {
  const auto& params = layer.params();
  return params && params->w_o && params->w_o->has_bias();
}

// The positions of the heads with these numbers among those that a layer has.
Result<std::vector<std::size_t>> places_of(
    const HeadsLeft& left, std::size_t layer,
    const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> places;
  for (const std::size_t number : numbers) {
    HEADWISE_ASSIGN(const auto place, place_of_head(kRemoveHeads, "heads",
                                                    {layer, number}, left));
    if (std::ranges::count(numbers, number) != 1) {
      return argument_error(kRemoveHeads, "heads",
                            message("has {}.{} twice", layer, number),
                            "each head once");
    }
    places.push_back(place);
  }
  return places;
}

// The layers that change, without these heads.
Result<std::vector<KeptAttention>> without(const Transformer& model,
                                           std::span<const HeadId> heads,
                                           ConstantPart constant) {
  std::map<std::size_t, std::vector<std::size_t>> by_layer;
  for (const HeadId& id : heads) {
    by_layer[id.layer].push_back(id.head);
  }
  const HeadsLeft left_before = heads_left(model);
  std::vector<KeptAttention> changes;
  for (const auto& [n, numbers] : by_layer) {
    HEADWISE_ASSIGN(const auto places, places_of(left_before, n, numbers));
    const MultiHeadAttention& layer = model.attention(n);
    HEADWISE_ASSIGN(auto left, remove_heads(layer, places,
                                            has_output_bias(layer)
                                                ? constant
                                                : ConstantPart::dropped));
    std::vector<std::size_t> kept = left_before[n];
    for (const std::size_t number : numbers) {
      std::erase(kept, number);
    }
    changes.push_back({n, std::move(left), std::move(kept)});
  }
  return changes;
}

}  // namespace

Result<MultiHeadAttention> remove_heads(const MultiHeadAttention& layer,
                                        std::span<const std::size_t> heads,
                                        ConstantPart constant) {
  return catching_out_of_memory([&]() -> Result<MultiHeadAttention> {
    HEADWISE_TRY(check_removed(layer, heads));
    const MultiHeadAttentionParams& params = *layer.params();
    const MultiHeadAttentionConfig& config = layer.config();
    HEADWISE_ASSIGN(const auto groups,
                    HeadGroups::create(config.kv_group_sizes));
    const HeadMap map(config.num_heads, *config.num_kv_heads, groups);
    const std::vector<bool> gone = marked(heads, config.num_heads);
    const Kept kept = kept_of(map, *config.num_kv_heads, gone);
    if (!params.w_v && kept.kv.size() != *config.num_kv_heads) {
      return value_error(kRemoveHeads, "layer", "without w_v",
                         "one whose values need not be left out",
                         ErrorCode::unsupported);
    }
    HEADWISE_ASSIGN(auto bias, bias_without(layer, map, gone, constant));
    HEADWISE_ASSIGN(auto w_q,
                    with_rows(params.w_q, kept.query, *config.head_dim));
    HEADWISE_ASSIGN(auto w_k, with_rows(params.w_k, kept.kv, *config.head_dim));
    HEADWISE_ASSIGN(auto w_o,
                    with_columns(*params.w_o, kept.query, *config.v_head_dim,
                                 std::move(bias)));
    MultiHeadAttentionParams left{
        std::move(w_q), std::move(w_k), {}, std::move(w_o)};
    if (params.w_v) {
      HEADWISE_ASSIGN(left.w_v,
                      with_rows(*params.w_v, kept.kv, *config.v_head_dim));
    }
    if (params.w_score) {
      HEADWISE_ASSIGN(left.w_score,
                      kept_rows(params.w_score->view(), kept.query, 1));
    }
    HEADWISE_TRY(add_norms(layer, kept, left));
    HEADWISE_TRY(add_added_keys(layer, kept, left));
    const bool even =
        std::ranges::adjacent_find(kept.of_group, std::not_equal_to<>()) ==
        kept.of_group.end();
    const auto qk_norm = left.q_norm ? config.qk_norm : std::nullopt;
    auto pruned = MultiHeadAttention::from_params(
        std::move(left),
        HeadCounts{
            .num_heads = kept.query.size(),
            .num_kv_heads = kept.kv.size(),
            .kv_group_sizes = even ? std::vector<std::size_t>() : kept.of_group,
            .vdim =
                config.value_proj ? std::optional<std::size_t>() : config.vdim,
            .dropout = config.dropout,
            .qk_norm = qk_norm,
            .rotary = config.rotary,
            .add_zero_attn = config.add_zero_attn});
    if (pruned) {
      HEADWISE_TRY(pruned->set_arithmetic(config.arithmetic));
    }
    return pruned;
  });
}

Status remove_heads(Transformer& encoder, std::span<const HeadId> heads,
                    ConstantPart constant) {
  return catching_out_of_memory([&]() -> Status {
    auto changes = without(encoder, heads, constant);
    HEADWISE_TRY(changes);
    return encoder.replace_attention(*changes);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
