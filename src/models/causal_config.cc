// config.json of a causal model.
#include <array>
#include <string>

#include "base/check.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/json_fields.h"
#include "interop/read_bytes.h"
#include "models/causal_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalConfig = "read_causal_model";
constexpr std::string_view kModelType = "model_type";
constexpr std::string_view kEps = "layer_norm_eps";

struct CausalSizeKey {
  std::string_view key;
  std::size_t CausalConfig::*into;
  SizeRange range;
};

constexpr std::size_t kLargestCausalSize = (std::size_t{1} << 31) - 1;
constexpr std::array kSizes = {
    CausalSizeKey{
        "vocab_size", &CausalConfig::vocab_size, {1, kLargestCausalSize}},
    CausalSizeKey{
        "hidden_size", &CausalConfig::hidden_size, {1, std::size_t{1} << 20}},
    CausalSizeKey{"num_hidden_layers",
                  &CausalConfig::num_layers,
                  {1, std::size_t{1} << 12}},
    CausalSizeKey{"num_attention_heads",
                  &CausalConfig::num_heads,
                  {1, std::size_t{1} << 20}},
    CausalSizeKey{"max_position_embeddings",
                  &CausalConfig::max_positions,
                  {1, kLargestCausalSize}}};

constexpr auto kCausalKeys = std::to_array<std::string_view>(
    {kModelType, kEps, kSizes[0].key, kSizes[1].key, kSizes[2].key,
     kSizes[3].key, kSizes[4].key});

Result<JsonFields> fields_of(const std::string& folder) {
  const std::string path = path_in(folder, "config.json");
  HEADWISE_TRY(check_regular_file(kCausalConfig, path));
  auto file = InputFile::open(kCausalConfig, path);
  HEADWISE_TRY(file);
  const auto bytes = read_bytes(*file, kLargestSettings + 1, /*certain=*/false);
  HEADWISE_TRY(bytes);
  if (bytes->size() > kLargestSettings) {
    return file->subject().bad_data(
        "has more than " + std::to_string(kLargestSettings) + " bytes");
  }
  return JsonFields::parse(
      {reinterpret_cast<const char*>(bytes->data()), bytes->size()},
      file->subject(), kCausalKeys);
}

}  // namespace

bool is_causal_model(const std::string& folder) {
  const auto fields = fields_of(folder);
  std::string type;
  return fields && fields->get(kModelType, type) && type == kCausalModelType;
}

Result<CausalConfig> read_causal_config(const std::string& folder) {
  HEADWISE_TRY(check_folder(kCausalConfig, folder));
  const auto fields = fields_of(folder);
  HEADWISE_TRY(fields);
  std::string type;
  HEADWISE_TRY(fields->require(kModelType, type));
  if (type != kCausalModelType) {
    return fields->unexpected(kModelType, kCausalModelType,
                              ErrorCode::unsupported);
  }
  CausalConfig config;
  for (const auto& [key, into, range] : kSizes) {
    HEADWISE_TRY(fields->require(key, range, config.*into));
  }
  if (config.hidden_size % config.num_heads != 0) {
    return fields->unexpected(
        "num_attention_heads",
        "a divisor of hidden_size = " + std::to_string(config.hidden_size));
  }
  HEADWISE_TRY(fields->get(kEps, config.layer_norm_eps));
  if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
    return fields->unexpected(kEps, "a number between 0 and 1");
  }
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
  return text + ",\n  \"" + std::string(kEps) +
         "\": " + number_text(config.layer_norm_eps, kDigits) + "\n}\n";
}

}  // namespace headwise::inline HEADWISE_ABI
