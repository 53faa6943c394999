// A causal model's parameters: shown and replaced by name, and written.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/safetensors.h"
#include "interop/folder.h"
#include "models/causal_state.h"
#include "models/kept_heads.h"
#include "models/model_folder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "causal_model";

using Change = FunctionRef<Status(std::string_view, std::span<float>)>;

Status update_norm(LayerNormParams& norm, const std::string& name,
                   const Change& change) {
  HEADWISE_TRY(change(name + ".weight", norm.weight.elements()));
  return change(name + ".bias", norm.bias.elements());
}

Status update_table(Embedding& table, std::string_view name,
                    const Change& change) {
  Status s = ok();
  table.update([&](std::span<float> weight) { s = change(name, weight); });
  return s;
}

using Views = std::map<std::string, AnyView>;

void view_norm(const LayerNormParams& norm, const std::string& name,
               Views& views) {
  views.emplace(name + ".weight", norm.weight);
  views.emplace(name + ".bias", norm.bias);
}

void view_linear(const Linear& linear, const std::string& name, Views& views) {
  views.emplace(name + ".weight", linear.weight());
  views.emplace(name + ".bias", linear.bias());
}

// Whether `kept` can take the place of a layer's attention.
Status check_kept(const KeptAttention& kept, const CausalConfig& config) {
  if (kept.layer >= config.num_layers) {
    return value_error(kOperation, "layer", std::to_string(kept.layer),
                       "0 to " + std::to_string(config.num_layers - 1),
                       ErrorCode::out_of_range);
  }
  const MultiHeadAttentionConfig& attention = kept.attention.config();
  return check_shape(kOperation, "attention",
                     Extents<3>{*attention.query_dim, attention.embed_dim,
                                attention.num_heads},
                     "(hidden_size, hidden_size, heads)",
                     Extents<3>{config.hidden_size, config.hidden_size,
                                kept.kept_heads.size()});
}

}  // namespace

Status CausalModel::update(
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  HEADWISE_TRY(update_table(state_->token, "token.weight", change));
  HEADWISE_TRY(update_table(state_->position, "position.weight", change));
  for (std::size_t n = 0; n < state_->layers.size(); ++n) {
    CausalLayer& layer = state_->layers[n];
    HEADWISE_TRY(update_norm(layer.norm, causal_name(n, "norm"), change));
    HEADWISE_TRY(layer.attention.update(
        [&](std::string_view name, std::span<float> values) {
          return change(causal_name(n, name), values);
        }));
  }
  HEADWISE_TRY(update_norm(state_->norm, "norm", change));
  Status s = ok();
  state_->unembedding.update([&](std::span<float> weight, std::span<float>) {
    s = change("unembedding.weight", weight);
  });
  return s;
}

Views CausalModel::params() const {
  Views views;
  views.emplace("token.weight", state_->token.weight());
  views.emplace("position.weight", state_->position.weight());
  for (std::size_t n = 0; n < state_->layers.size(); ++n) {
    const CausalLayer& layer = state_->layers[n];
    view_norm(layer.norm, causal_name(n, "norm"), views);
    const MultiHeadAttentionParams& attention = *layer.attention.params();
    view_linear(attention.w_q, causal_name(n, "w_q"), views);
    view_linear(attention.w_k, causal_name(n, "w_k"), views);
    view_linear(*attention.w_v, causal_name(n, "w_v"), views);
    view_linear(*attention.w_o, causal_name(n, "w_o"), views);
  }
  view_norm(state_->norm, "norm", views);
  views.emplace("unembedding.weight", state_->unembedding.weight());
  return views;
}

Status CausalModel::replace_attention(std::span<KeptAttention> layers) try {
  for (const KeptAttention& kept : layers) {
    HEADWISE_TRY(check_kept(kept, state_->config));
  }
  auto& heads = state_->config.kept_heads;
  if (heads.empty() && !layers.empty()) {
    heads.assign(state_->layers.size(), kept_in(state_->config, 0));
  }
  for (KeptAttention& kept : layers) {  // nothing fails from here on
    MultiHeadAttention& attention = state_->layers[kept.layer].attention;
    kept.attention.share_memory_with(attention);
    attention = std::move(kept.attention);
    heads[kept.layer] = std::move(kept.kept_heads);
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status CausalModel::write(const std::string& folder) const try {
  HEADWISE_TRY(make_folder(kOperation, folder));
  std::string words;
  for (std::size_t id = 0; id < vocabulary().size(); ++id) {
    words += std::string(token(static_cast<TokenId>(id))) + "\n";
  }
  HEADWISE_TRY(write_file_atomically(path_in(folder, "vocab.txt"), words));
  SafetensorsMetadata metadata;
  write_kept_heads(config().kept_heads, metadata);
  HEADWISE_TRY(write_safetensors(path_in(folder, std::string(kParamsFile)),
                                 params(), metadata));
  return write_file_atomically(path_in(folder, "config.json"),
                               causal_config_text(config()));
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
