#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "interop/error_text.h"
#include "interop/pruned_heads.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using BertSizeKey = SizeKey<BertConfig>;

// What a family's config.json calls things. A new family is a row of kFamilies.
struct FamilyKeys {
  std::string_view model_type;
  BertFamily family;
  std::span<const BertSizeKey> sizes;  // each must be there
  std::string_view activation;
};

constexpr SizeRange kPositions = {2, kIdRange.most};
constexpr SizeRange kIntermediate = {1, std::size_t{1} << 24};

constexpr std::array kBertSizes = {
    BertSizeKey{"vocab_size", &BertConfig::vocab_size, kIdRange},
    BertSizeKey{"hidden_size", &BertConfig::hidden_size, kHiddenRange},
    BertSizeKey{"num_hidden_layers", &BertConfig::num_layers, kLayerRange},
    BertSizeKey{"num_attention_heads", &BertConfig::num_heads, kHiddenRange},
    BertSizeKey{"intermediate_size", &BertConfig::intermediate_size,
                kIntermediate},
    BertSizeKey{"max_position_embeddings", &BertConfig::max_positions,
                kPositions},
    BertSizeKey{"type_vocab_size", &BertConfig::type_vocab_size, kIdRange}};

constexpr std::array kDistilBertSizes = {
    BertSizeKey{"vocab_size", &BertConfig::vocab_size, kIdRange},
    BertSizeKey{"dim", &BertConfig::hidden_size, kHiddenRange},
    BertSizeKey{"n_layers", &BertConfig::num_layers, kLayerRange},
    BertSizeKey{"n_heads", &BertConfig::num_heads, kHiddenRange},
    BertSizeKey{"hidden_dim", &BertConfig::intermediate_size, kIntermediate},
    BertSizeKey{"max_position_embeddings", &BertConfig::max_positions,
                kPositions}};

constexpr std::array kFamilies = {
    FamilyKeys{"bert", BertFamily::bert, kBertSizes, "hidden_act"},
    FamilyKeys{"distilbert", BertFamily::distilbert, kDistilBertSizes,
               "activation"}};

constexpr auto kBertKeys = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "max_position_embeddings", "is_decoder",
     // bert
     "hidden_size", "num_hidden_layers", "num_attention_heads",
     "intermediate_size", "type_vocab_size", "hidden_act", "layer_norm_eps",
     "position_embedding_type",
     // distilbert
     "dim", "n_layers", "n_heads", "hidden_dim", "activation"});

Result<const FamilyKeys*> family_of(const JsonFields& fields) {
  std::string model_type;
  HEADWISE_TRY(fields.get("model_type", model_type));
  const auto* const found =
      std::ranges::find(kFamilies, model_type, &FamilyKeys::model_type);
  if (found != kFamilies.end()) {
    return found;
  }
  const std::string expected =
      list_text(kFamilies, " or ", &FamilyKeys::model_type);
  return fields.has("model_type")
             ? fields.unexpected("model_type", expected, ErrorCode::unsupported)
             : fields.fault("has no model_type", expected,
                            ErrorCode::unsupported);
}

// A model whose setting `key`, if it is there, is not `expected` is computed
// otherwise.
template <class T>
Status check_computed(const JsonFields& fields, std::string_view key,
                      const T& expected, std::string_view shown) {
  T given = expected;
  HEADWISE_TRY(fields.get(key, given));
  return given == expected
             ? ok()
             : fields.unexpected(key, shown, ErrorCode::unsupported);
}

Status check_computation(const JsonFields& fields, const FamilyKeys& keys) {
  for (const auto& [key, expected] :
       {std::pair<std::string_view, std::string>{keys.activation, "gelu"},
        {"position_embedding_type", "absolute"}}) {
    HEADWISE_TRY(check_computed(fields, key, expected, expected));
  }
  return check_computed(fields, "is_decoder", false, "false");
}

// Which heads each layer kept, if any were removed.
Status get_kept_heads(std::string_view text, const FileSubject& subject,
                      BertConfig& config) {
  HEADWISE_ASSIGN(const auto pruned,
                  parse_pruned_heads(text, subject, config.num_heads));
  if (pruned.empty()) {
    return ok();
  }
  if (pruned.rbegin()->first >= config.num_layers) {
    return subject.bad_data(
        message("has pruned heads of layer {}", pruned.rbegin()->first),
        message("a layer below {}", config.num_layers));
  }
  constexpr std::size_t kMostHeads = std::size_t{1} << 20;  // of memory
  if (config.num_layers > kMostHeads / config.num_heads) {
    return subject.bad_data(message(
        "has pruned heads in a model of more than {} heads", kMostHeads));
  }
  std::vector kept(config.num_layers, heads_in(config, 0));
  for (const auto& removed : pruned) {
    std::erase_if(kept[removed.first], [&](std::size_t head) {
      return removed.second.contains(head);
    });
  }
  config.kept_heads = std::move(kept);
  return ok();
}

}  // namespace

Result<BertConfig> parse_bert_config(std::string_view text,
                                     const FileSubject& subject) {
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kBertKeys));
  HEADWISE_ASSIGN(const auto keys, family_of(fields));
  HEADWISE_TRY(check_computation(fields, *keys));
  BertConfig config;
  config.family = keys->family;
  HEADWISE_TRY(get_sizes(fields, keys->sizes, config));
  HEADWISE_TRY(get_kept_heads(text, subject, config));
  // DistilBERT's is not a setting: it is 1e-12.
  if (config.family == BertFamily::bert) {
    HEADWISE_TRY(get_layer_norm_eps(fields, config));
  }
  return config;
}

}  // namespace headwise::inline HEADWISE_ABI
