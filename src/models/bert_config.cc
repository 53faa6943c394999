#include <array>
#include <span>
#include <utility>
#include <vector>

#include "interop/json_fields.h"
#include "interop/pruned_heads.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct BertSizeKey {
  std::string_view key;
  std::size_t BertConfig::*into;
  SizeRange range;
};

// What a family's config.json calls things. A new family is a row of kFamilies.
struct FamilyKeys {
  std::string_view model_type;
  BertFamily family;
  std::span<const BertSizeKey> sizes;  // each must be there
  std::string_view hidden_size;
  std::string_view num_heads;
  std::string_view activation;
};

constexpr std::size_t kLargestBertSize = (std::size_t{1} << 31) - 1;
constexpr SizeRange kIds = {1, kLargestBertSize};
constexpr SizeRange kPositions = {2, kLargestBertSize};
constexpr SizeRange kHidden = {1, std::size_t{1} << 20};
constexpr SizeRange kIntermediate = {1, std::size_t{1} << 24};
constexpr SizeRange kLayers = {1, std::size_t{1} << 12};

constexpr std::array kBertSizes = {
    BertSizeKey{"vocab_size", &BertConfig::vocab_size, kIds},
    BertSizeKey{"hidden_size", &BertConfig::hidden_size, kHidden},
    BertSizeKey{"num_hidden_layers", &BertConfig::num_layers, kLayers},
    BertSizeKey{"num_attention_heads", &BertConfig::num_heads, kHidden},
    BertSizeKey{"intermediate_size", &BertConfig::intermediate_size,
                kIntermediate},
    BertSizeKey{"max_position_embeddings", &BertConfig::max_positions,
                kPositions},
    BertSizeKey{"type_vocab_size", &BertConfig::type_vocab_size, kIds}};

constexpr std::array kDistilBertSizes = {
    BertSizeKey{"vocab_size", &BertConfig::vocab_size, kIds},
    BertSizeKey{"dim", &BertConfig::hidden_size, kHidden},
    BertSizeKey{"n_layers", &BertConfig::num_layers, kLayers},
    BertSizeKey{"n_heads", &BertConfig::num_heads, kHidden},
    BertSizeKey{"hidden_dim", &BertConfig::intermediate_size, kIntermediate},
    BertSizeKey{"max_position_embeddings", &BertConfig::max_positions,
                kPositions}};

constexpr std::array kFamilies = {
    FamilyKeys{"bert", BertFamily::bert, kBertSizes, "hidden_size",
               "num_attention_heads", "hidden_act"},
    FamilyKeys{"distilbert", BertFamily::distilbert, kDistilBertSizes, "dim",
               "n_heads", "activation"}};

constexpr auto kBertKeys = std::to_array<std::string_view>(
    {"model_type", "vocab_size", "max_position_embeddings", "is_decoder",
     // bert
     "hidden_size", "num_hidden_layers", "num_attention_heads",
     "intermediate_size", "type_vocab_size", "hidden_act", "layer_norm_eps",
     "position_embedding_type",
     // distilbert
     "dim", "n_layers", "n_heads", "hidden_dim", "activation"});

Result<const FamilyKeys*> family_of(const JsonFields& fields) {
  std::string expected;
  std::string model_type;
  HEADWISE_TRY(fields.get("model_type", model_type));
  for (const FamilyKeys& keys : kFamilies) {
    if (model_type == keys.model_type) {
      return &keys;
    }
    expected = expected.empty()
                   ? keys.model_type
                   : expected + " or " + std::string(keys.model_type);
  }
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

Status get_sizes(const JsonFields& fields, const FamilyKeys& keys,
                 BertConfig& config) {
  for (const BertSizeKey& size : keys.sizes) {
    HEADWISE_TRY(fields.require(size.key, size.range, config.*size.into));
  }
  if (config.hidden_size % config.num_heads != 0) {
    return fields.unexpected(keys.num_heads,
                             "a divisor of " + std::string(keys.hidden_size) +
                                 " = " + std::to_string(config.hidden_size));
  }
  return ok();
}

// Which heads each layer kept, if any were removed.
Status get_kept_heads(std::string_view text, const FileSubject& subject,
                      BertConfig& config) {
  const auto pruned = parse_pruned_heads(text, subject, config.num_heads);
  HEADWISE_TRY(pruned);
  if (pruned->empty()) {
    return ok();
  }
  if (pruned->rbegin()->first >= config.num_layers) {
    return subject.bad_data(
        "has pruned heads of layer " + std::to_string(pruned->rbegin()->first),
        "a layer below " + std::to_string(config.num_layers));
  }
  constexpr std::size_t kMostHeads = std::size_t{1} << 20;  // of memory
  if (config.num_layers > kMostHeads / config.num_heads) {
    return subject.bad_data("has pruned heads in a model of more than " +
                            std::to_string(kMostHeads) + " heads");
  }
  std::vector kept(config.num_layers, heads_in(config, 0));
  for (const auto& removed : *pruned) {
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
  const auto fields = JsonFields::parse(text, subject, kBertKeys);
  HEADWISE_TRY(fields);
  const auto keys = family_of(*fields);
  HEADWISE_TRY(keys);
  HEADWISE_TRY(check_computation(*fields, **keys));
  BertConfig config;
  config.family = (*keys)->family;
  HEADWISE_TRY(get_sizes(*fields, **keys, config));
  HEADWISE_TRY(get_kept_heads(text, subject, config));
  // DistilBERT's is not a setting: it is 1e-12.
  if (config.family == BertFamily::distilbert) {
    return config;
  }
  HEADWISE_TRY(fields->get("layer_norm_eps", config.layer_norm_eps));
  if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
    return fields->unexpected("layer_norm_eps", "a number between 0 and 1");
  }
  return config;
}

}  // namespace headwise::inline HEADWISE_ABI
