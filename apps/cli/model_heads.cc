#include "model_heads.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::cli {
namespace {

using Json = nlohmann::json;

// More than any configuration has.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

std::optional<std::size_t> count_in(const Json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_number_unsigned() &&
                 found->get<std::size_t>() > 0
             ? std::optional(found->get<std::size_t>())
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
    return {.why_not = "there is no config.json beside it"};
  }
  auto input = InputFile::open("inspect", path);
  if (!input) {
    return {.why_not = input.error().message};
  }
  const auto bytes = read_bytes(*input, kMostBytes, /*certain=*/false);
  if (!bytes) {
    return {.why_not = bytes.error().message};
  }
  const Json config =
      Json::parse(std::string_view(reinterpret_cast<const char*>(bytes->data()),
                                   bytes->size()),
                  nullptr, false);
  if (!config.is_object()) {
    return {.why_not = "config.json is no JSON object"};
  }
  ModelHeads heads;
  heads.num_heads = count_in(config, "num_attention_heads");
  if (!heads.num_heads) {
    heads.num_heads = count_in(config, "n_heads");
  }
  if (!heads.num_heads) {
    return {.why_not =
                "config.json says no num_attention_heads and no n_heads"};
  }
  heads.num_kv_heads = count_in(config, "num_key_value_heads");
  return heads;
}

}  // namespace headwise::cli
