#include "tokenizer/shared_keys.h"

#include <utility>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::vector<JsonPart>> sequence_parts(const JsonPart& part,
                                             std::string_view key,
                                             bool untyped) {
  std::vector<JsonPart> found;
  std::vector<JsonPart> parts = {part};  // the next one is the last
  while (!parts.empty()) {
    JsonPart next = std::move(parts.back());
    parts.pop_back();
    const bool is_untyped = untyped && !next.at("type").exists();
    std::string type;
    if (is_untyped ? next.at(key).exists()
                   : next.get("type", type) && type == "Sequence") {
      HEADWISE_ASSIGN(const std::vector<JsonPart> inner, next.list(key));
      parts.insert(parts.end(), inner.rbegin(), inner.rend());
    } else {
      found.push_back(std::move(next));
    }
  }
  return found;
}

Result<Pattern> read_pattern(const JsonPart& part) {
  const JsonPart pattern = part.at("pattern");
  if (!pattern.exists()) {
    return part.missing("pattern");
  }
  const bool is_literal = pattern.at("String").exists();
  const JsonPart expression = pattern.at("Regex");
  if (is_literal == expression.exists() || pattern.json().size() != 1) {
    return part.unexpected("pattern", "String or Regex, with a text");
  }
  std::string text;
  HEADWISE_TRY(pattern.get(is_literal ? "String" : "Regex", text));
  if (is_literal) {
    return Pattern::literal(text);
  }
  auto compiled = Pattern::compile(text);
  if (!compiled) {
    return part.subject()
        .of_entry(expression.path())
        .blame_here(compiled.error());
  }
  return compiled;
}

Result<ByteLevelKeys> read_byte_level(const JsonPart& part) {
  ByteLevelKeys keys;
  HEADWISE_TRY(part.require("add_prefix_space", keys.add_prefix_space));
  HEADWISE_TRY(part.require("trim_offsets", keys.trim_offsets));
  HEADWISE_TRY(part.get("use_regex", keys.use_regex));
  return keys;
}

Result<MetaspaceKeys> read_metaspace(const JsonPart& part) {
  constexpr std::array<std::string_view, 3> kSchemes = {"always", "first",
                                                        "never"};
  MetaspaceKeys keys;
  char32_t replacement = 0;
  HEADWISE_TRY(part.require("replacement", replacement));
  append_character(keys.replacement, replacement);
  std::size_t scheme = 0;
  HEADWISE_TRY(part.get("prepend_scheme", kSchemes, scheme));
  keys.scheme = static_cast<MetaspaceKeys::Scheme>(scheme);
  HEADWISE_TRY(part.get("split", keys.split));
  // Keys of old files: the second one is written, but not read.
  bool add_prefix_space = true;
  HEADWISE_TRY(part.get("add_prefix_space", add_prefix_space));
  std::optional<std::string> str_rep;
  HEADWISE_TRY(part.get("str_rep", str_rep));
  if (!add_prefix_space && keys.scheme != MetaspaceKeys::never) {
    return part.fault("has add_prefix_space false",
                      "a prepend_scheme of never");
  }
  return keys;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
