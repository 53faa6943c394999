// The parameters of models of every family: seen by name, and layers whose
// heads were removed in the place of a model's own.
#pragma once

#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"
#include "headwise/transformer/transformer.h"

namespace headwise::inline HEADWISE_ABI {

using ParamViews = std::map<std::string, AnyView>;

// NAME.weight and NAME.bias.
inline void add_views(const LayerNormParams& norm, const std::string& name,
                      ParamViews& views) {
  views.emplace(name + ".weight", norm.weight);
  views.emplace(name + ".bias", norm.bias);
}
inline void add_views(const Linear& linear, const std::string& name,
                      ParamViews& views) {
  views.emplace(name + ".weight", linear.weight());
  views.emplace(name + ".bias", linear.bias());
}

// Config has num_layers, num_heads, hidden_size and kept_heads.
template <class Config>
Status check_kept(std::string_view operation, const KeptAttention& kept,
                  const Config& config) {
  if (kept.layer >= config.num_layers) {
    return value_error(operation, "layer", std::to_string(kept.layer),
                       message("0 to {}", config.num_layers - 1),
                       ErrorCode::out_of_range);
  }
  const MultiHeadAttentionConfig& attention = kept.attention.config();
  const std::vector<std::size_t>& heads = kept.kept_heads;
  HEADWISE_TRY(check_shape(
      operation, "attention",
      Extents<3>{*attention.query_dim, attention.embed_dim,
                 attention.num_heads},
      "(hidden_size, hidden_size, heads)",
      Extents<3>{config.hidden_size, config.hidden_size, heads.size()}));
  for (std::size_t n = 0; n < heads.size(); ++n) {
    if (heads[n] >= config.num_heads || (n != 0 && heads[n] <= heads[n - 1])) {
      return value_error(
          operation, "kept_heads[" + std::to_string(n) + "]",
          std::to_string(heads[n]),
          message("ascending numbers below num_heads = {}", config.num_heads),
          ErrorCode::out_of_range);
    }
  }
  return ok();
}

// Either all of them are replaced or nothing changes. Each of `layers` has an
// `attention`.
template <class Config, class Layer>
Status replace_attention_of(std::string_view operation,
                            std::span<KeptAttention> replaced, Config& config,
                            std::vector<Layer>& layers) {
  for (const KeptAttention& kept : replaced) {
    HEADWISE_TRY(check_kept(operation, kept, config));
  }
  auto& heads = config.kept_heads;
  if (heads.empty() && !replaced.empty()) {
    std::vector<std::size_t> all(config.num_heads);
    std::iota(all.begin(), all.end(), std::size_t{0});
    heads.assign(layers.size(), all);
  }
  for (KeptAttention& kept : replaced) {  // nothing fails from here on
    MultiHeadAttention& attention = layers[kept.layer].attention;
    kept.attention.share_memory_with(attention);
    attention = std::move(kept.attention);
    heads[kept.layer] = std::move(kept.kept_heads);
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
