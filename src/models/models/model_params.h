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

#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"
#include "headwise/transformer/transformer.h"
#include "transformer/kept_heads.h"

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

// Either all of them are replaced or nothing changes. Config has num_layers,
// num_heads, hidden_size and kept_heads, each of `layers` an `attention`.
template <class Config, class Layer>
Status replace_attention_of(std::string_view operation,
                            std::span<KeptAttention> replaced, Config& config,
                            std::vector<Layer>& layers) {
  for (const KeptAttention& kept : replaced) {
    HEADWISE_TRY(
        check_kept(operation, kept,
                   {config.num_layers, config.num_heads, config.hidden_size}));
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
