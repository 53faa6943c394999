#include "headwise/interop/model_heads.h"

#include <sys/stat.h>

#include <string_view>

#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "json/json.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// More than any configuration has.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kDeepest = 32;

std::optional<std::size_t> count_in(const Json& config, const char* name) {
  const Json* const found = config.find(name);
  std::size_t count = 0;
  return found != nullptr && found->get(count) && count > 0
             ? std::optional(count)
             : std::nullopt;
}

std::string config_path(const std::string& file) {
  struct stat status {};
  const bool is_folder =
      ::stat(file.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  return (is_folder ? file + "/" : file.substr(0, file.find_last_of('/') + 1)) +
         "config.json";
}

}  // namespace

ModelHeads read_model_heads(const std::string& file) {
  const std::string path = config_path(file);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {.why_not = "there is no config.json next to it"};
  }
  auto input = InputFile::open("inspect", path);
  if (!input) {
    return {.why_not = input.error().message()};
  }
  const auto bytes = read_bytes(*input, kMostBytes, /*certain=*/false);
  if (!bytes) {
    return {.why_not = bytes.error().message()};
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                              bytes->size());
  const auto config = Json::parse(text, kMostBytes, kDeepest);
  if (!config || !config->is_object()) {
    return {.why_not = "config.json is no JSON object"};
  }
  ModelHeads heads;
  heads.num_heads = count_in(*config, "num_attention_heads");
  if (!heads.num_heads) {
    heads.num_heads = count_in(*config, "n_heads");
  }
  if (!heads.num_heads) {
    return {.why_not =
                "config.json says no num_attention_heads and no n_heads"};
  }
  heads.num_kv_heads = count_in(*config, "num_key_value_heads");
  return heads;
}

}  // namespace headwise::inline HEADWISE_ABI
