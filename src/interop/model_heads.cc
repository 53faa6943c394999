#include "headwise/interop/model_heads.h"

#include <sys/stat.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/input_file.h"
#include "interop/json_fields.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kModelHeads = "read_model_heads";
constexpr std::size_t kMostConfigBytes = std::size_t{1}
                                         << 20;  // of config.json
constexpr std::array<std::string_view, 3> kKeys = {
    "num_attention_heads", "n_heads", "num_key_value_heads"};

std::optional<std::size_t> count_in_config(const JsonFields& config,
                                           std::string_view key) {
  std::size_t count = 0;
  const Status s =
      config.get(key, {1, std::numeric_limits<std::size_t>::max()}, count);
  return s && count > 0 ? std::optional(count) : std::nullopt;
}

std::string config_path(const std::string& file) {
  struct stat status {};
  const bool is_folder =
      ::stat(file.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  return (is_folder ? file + "/" : file.substr(0, file.find_last_of('/') + 1)) +
         "config.json";
}

ModelHeads damaged(const Error& error) {
  return {.why_not = error, .damaged = true};
}

ModelHeads no_heads(std::string why_not) {
  return {.why_not = Error(ErrorCode::bad_data, {.given = std::move(why_not)})};
}

}  // namespace

ModelHeads read_model_heads(const std::string& file) try {
  const std::string path = config_path(file);
  auto input = InputFile::open_if_there(kModelHeads, path);
  if (!input) {
    return damaged(input.error());
  }
  if (!input->has_value()) {
    return no_heads("its folder has no config.json");
  }
  const auto bytes = read_bytes(**input, kMostConfigBytes, /*certain=*/false);
  if (!bytes) {
    return damaged(bytes.error());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                              bytes->size());
  const auto config = JsonFields::parse(text, {"", "config.json"}, kKeys);
  if (!config) {
    return damaged(Error(ErrorCode::bad_data,
                         {.given = "config.json is not a JSON object"}));
  }
  ModelHeads heads;
  heads.num_heads = count_in_config(*config, "num_attention_heads");
  if (!heads.num_heads) {
    heads.num_heads = count_in_config(*config, "n_heads");
  }
  if (!heads.num_heads) {
    return no_heads("config.json has no num_attention_heads and no n_heads");
  }
  heads.num_kv_heads = count_in_config(*config, "num_key_value_heads");
  return heads;
} catch (...) {
  return damaged(caught_out_of_memory());
}

}  // namespace headwise::inline HEADWISE_ABI
