// config.json of a causal model.
#include <array>
#include <string>

#include "base/check.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "models/causal_params.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalConfig = "read_causal_model";
constexpr std::string_view kModelType = "model_type";

using CausalSizeKey = SizeKey<CausalConfig>;

constexpr std::array kSizes = {
    CausalSizeKey{"vocab_size", &CausalConfig::vocab_size, kIdRange},
    CausalSizeKey{"hidden_size", &CausalConfig::hidden_size, kHiddenRange},
    CausalSizeKey{"num_hidden_layers", &CausalConfig::num_layers, kLayerRange},
    CausalSizeKey{"num_attention_heads", &CausalConfig::num_heads,
                  kHiddenRange},
    CausalSizeKey{"max_position_embeddings", &CausalConfig::max_positions,
                  kIdRange}};

constexpr auto kCausalKeys = std::to_array<std::string_view>(
    {kModelType, kLayerNormEps, kSizes[0].key, kSizes[1].key, kSizes[2].key,
     kSizes[3].key, kSizes[4].key});

Result<JsonFields> fields_of(const std::string& folder) {
  const std::string path = path_in(folder, "config.json");
  HEADWISE_TRY(check_regular_file(kCausalConfig, path));
  HEADWISE_ASSIGN(auto file, InputFile::open(kCausalConfig, path));
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kLargestSettings));
  return JsonFields::parse(text_of(bytes), file.subject(), kCausalKeys);
}

}  // namespace

bool is_causal_model(const std::string& folder) {
  const auto fields = fields_of(folder);
  std::string type;
  return fields && fields->get(kModelType, type) && type == kCausalModelType;
}

Result<CausalConfig> read_causal_config(const std::string& folder) {
  HEADWISE_TRY(check_folder(kCausalConfig, folder));
  HEADWISE_ASSIGN(const auto fields, fields_of(folder));
  std::string type;
  HEADWISE_TRY(fields.require(kModelType, type));
  if (type != kCausalModelType) {
    return fields.unexpected(kModelType, kCausalModelType,
                             ErrorCode::unsupported);
  }
  CausalConfig config;
  HEADWISE_TRY(get_sizes(fields, kSizes, config));
  HEADWISE_TRY(get_layer_norm_eps(fields, config));
  return config;
}

std::string causal_config_text(const CausalConfig& config) {
  std::string text = "{\n  \"" + std::string(kModelType) + "\": \"" +
                     std::string(kCausalModelType) + "\"";
  for (const auto& [key, from, range] : kSizes) {
    text +=
        ",\n  \"" + std::string(key) + "\": " + std::to_string(config.*from);
  }
  constexpr int kDigits = 17;
  return text + ",\n  \"" + std::string(kLayerNormEps) +
         "\": " + number_text(config.layer_norm_eps, kDigits) + "\n}\n";
}

}  // namespace headwise::inline HEADWISE_ABI
