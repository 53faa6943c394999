#include "tokenizer/shared_keys.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::array<std::string_view, 3> kPrependSchemes = {"always", "first",
                                                             "never"};

}  // namespace

Result<std::vector<JsonPart>> sequence_parts(const JsonPart& part,
                                             std::string_view key) {
  std::vector<JsonPart> found;
  std::vector<JsonPart> parts = {part};  // the next one is the last
  while (!parts.empty()) {
    JsonPart next = std::move(parts.back());
    parts.pop_back();
    const JsonPart type = next.at("type");
    std::string name;
    if (type.exists() && type.json().get(name) && name == "Sequence") {
      HEADWISE_ASSIGN(const std::vector<JsonPart> inner, next.list(key));
      parts.insert(parts.end(), inner.rbegin(), inner.rend());
    } else {
      found.push_back(std::move(next));
    }
  }
  return found;
}

Result<ByteLevelKeys> read_byte_level(const JsonPart& part) {
  ByteLevelKeys keys;
  HEADWISE_TRY(part.require("add_prefix_space", keys.add_prefix_space));
  HEADWISE_TRY(part.require("trim_offsets", keys.trim_offsets));
  HEADWISE_TRY(part.get("use_regex", keys.use_regex));
  return keys;
}

Result<MetaspaceKeys> read_metaspace(const JsonPart& part) {
  MetaspaceKeys keys;
  HEADWISE_TRY(part.require("replacement", keys.replacement));
  std::size_t scheme = 0;
  HEADWISE_TRY(part.get("prepend_scheme", kPrependSchemes, scheme));
  keys.scheme = static_cast<PrependScheme>(scheme);
  HEADWISE_TRY(part.get("split", keys.split));
  // Keys of old files: the second one is written, but not read.
  bool add_prefix_space = true;
  HEADWISE_TRY(part.get("add_prefix_space", add_prefix_space));
  std::optional<std::string> str_rep;
  HEADWISE_TRY(part.get("str_rep", str_rep));
  if (!add_prefix_space && keys.scheme != PrependScheme::never) {
    return part.fault("has add_prefix_space false",
                      "a prepend_scheme of never");
  }
  return keys;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
