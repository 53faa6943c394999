// A causal model's parameters: shown and replaced by name, and written.
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/safetensors.h"
#include "interop/atomic_folder.h"
#include "interop/folder.h"
#include "models/causal_state.h"
#include "models/model_folder.h"
#include "models/model_params.h"
#include "transformer/kept_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalUpdate = "causal_model";
constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kVocabularyFile = "vocab.txt";

Status write_files(const CausalModel& model, const std::string& folder) {
  std::string words;
  for (std::size_t id = 0; id < model.vocabulary().size(); ++id) {
    words += std::string(model.token(static_cast<TokenId>(id))) + "\n";
  }
  HEADWISE_TRY(write_file_atomically(
      path_in(folder, std::string(kVocabularyFile)), words));
  SafetensorsMetadata metadata;
  write_kept_heads(model.config().kept_heads, metadata);
  HEADWISE_TRY(write_safetensors(path_in(folder, std::string(kParamsFile)),
                                 model.params(), metadata));
  return write_file_atomically(path_in(folder, std::string(kConfigFile)),
                               causal_config_text(model.config()));
}

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

ParamViews CausalModel::params() const {
  ParamViews views;
  views.emplace("token.weight", state_->token.weight());
  views.emplace("position.weight", state_->position.weight());
  for (std::size_t n = 0; n < state_->layers.size(); ++n) {
    const CausalLayer& layer = state_->layers[n];
    add_views(layer.norm, causal_name(n, "norm"), views);
    const MultiHeadAttentionParams& attention = *layer.attention.params();
    add_views(attention.w_q, causal_name(n, "w_q"), views);
    add_views(attention.w_k, causal_name(n, "w_k"), views);
    add_views(*attention.w_v, causal_name(n, "w_v"), views);
    add_views(*attention.w_o, causal_name(n, "w_o"), views);
  }
  add_views(state_->norm, "norm", views);
  views.emplace("unembedding.weight", state_->unembedding.weight());
  return views;
}

Status CausalModel::replace_attention(std::span<KeptAttention> layers) {
  return catching_out_of_memory([&] {
    return replace_attention_of(kCausalUpdate, layers, state_->config,
                                state_->layers);
  });
}

Status CausalModel::write(const std::string& folder,
                          std::span<const std::string> keep) const try {
  std::vector<std::string> names(keep.begin(), keep.end());
  names.insert(names.end(),
               {std::string(kVocabularyFile), std::string(kParamsFile),
                std::string(kConfigFile)});
  FolderEntries old;
  return write_folder_atomically(
      {.operation = kCausalUpdate,
       .place = folder,
       .old = old,
       .last = std::string(kConfigFile),
       .keep = keep},
      [&](const std::string& fresh) -> Status {
        HEADWISE_TRY(write_files(*this, fresh));
        HEADWISE_ASSIGN(old, entries_of_files(kCausalUpdate, folder, names));
        return ok();
      });
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
