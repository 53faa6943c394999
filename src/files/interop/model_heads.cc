#include "interop/model_heads.h"

#include <sys/stat.h>

#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/input_file.h"
#include "interop/json_fields.h"
#include "interop/pruned_heads.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kModelHeads = "read_model_heads";
constexpr std::size_t kMostConfigBytes = std::size_t{1}
                                         << 20;  // of config.json
constexpr std::array<std::string_view, 6> kKeys = {
    "num_attention_heads", "n_heads", "num_key_value_heads", "head_dim",
    "hidden_size",         "dim"};

std::optional<std::size_t> count_in_config(const JsonFields& config,
                                           std::string_view key) {
  std::size_t count = 0;
  const Status s =
      config.get(key, {1, std::numeric_limits<std::size_t>::max()}, count);
  return s && count > 0 ? std::optional(count) : std::nullopt;
}

// The first of these keys that is there.
std::optional<std::size_t> first_count(
    const JsonFields& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto count = count_in_config(config, key)) {
      return count;
    }
  }
  return std::nullopt;
}

// Nothing where hidden_size is not that of whole heads.
std::optional<std::size_t> head_size_in(const JsonFields& config,
                                        std::size_t num_heads) {
  const auto head_dim = count_in_config(config, "head_dim");
  const auto hidden = first_count(config, {"hidden_size", "dim"});
  return head_dim || !hidden || *hidden % num_heads != 0
             ? head_dim
             : std::optional(*hidden / num_heads);
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
  const std::string_view text = text_of(*bytes);
  const auto config = JsonFields::parse(text, {"", "config.json"}, kKeys);
  if (!config) {
    return damaged(Error(ErrorCode::bad_data,
                         {.given = "config.json is not a JSON object"}));
  }
  ModelHeads heads;
  heads.num_heads = first_count(*config, {"num_attention_heads", "n_heads"});
  if (!heads.num_heads) {
    return no_heads("config.json has no num_attention_heads and no n_heads");
  }
  auto pruned = parse_pruned_heads(text, {"", "config.json"}, *heads.num_heads);
  if (!pruned) {
    return damaged(pruned.error());
  }
  heads.pruned = *std::move(pruned);
  heads.num_kv_heads = count_in_config(*config, "num_key_value_heads");
  heads.head_size = head_size_in(*config, *heads.num_heads);
  return heads;
} catch (...) {
  return damaged(caught_out_of_memory());
}

Result<std::optional<std::size_t>> ModelHeads::heads_of_layer(
    std::size_t layer, std::size_t q_features) const {
  if (!num_heads) {
    return num_heads;
  }
  const auto removed = pruned.find(layer);
  const std::size_t left =
      *num_heads - (removed == pruned.end() ? 0 : removed->second.size());
  if (!head_size || q_features == left * *head_size) {
    return std::optional(left);
  }
  if (pruned.empty() && q_features % *head_size == 0 &&
      q_features < left * *head_size) {
    return std::optional(q_features / *head_size);
  }
  return argument_error(
      "", "config.json",
      message("says that layer {} has {} heads of {} features", layer, left,
              *head_size),
      message("{} features of queries, as the layer has", q_features),
      ErrorCode::bad_data);
}

}  // namespace headwise::inline HEADWISE_ABI
