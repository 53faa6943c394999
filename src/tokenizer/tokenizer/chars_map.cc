#include "tokenizer/chars_map.h"

#include "interop/little_endian.h"
#include "interop/utf8.h"
#include "tokenizer/base64.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kUnitBytes = 4;

std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(
      internal::little_endian_number(bytes.substr(at, kUnitBytes)));
}

// What a unit of the trie says.
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x8000'00FFU; }
bool has_leaf(std::uint32_t unit) { return (unit >> 8U & 1U) != 0; }
std::uint32_t offset_of(std::uint32_t unit) {
  return unit >> 10U << ((unit & 0x200U) >> 6U);
}
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFF'FFFFU; }

}  // namespace

Result<CharsMap> CharsMap::read(const JsonPart& part) {
  CharsMap made;
  std::optional<std::string> text;
  HEADWISE_TRY(part.get(kCharsMapKey, text));
  if (!text) {
    return made;
  }
  const std::optional<std::string> decoded = decode_base64(*text);
  if (!decoded) {
    return part.unexpected(kCharsMapKey, "base64");
  }
  const std::string_view bytes = *decoded;
  const std::size_t end =
      kUnitBytes + (bytes.size() < kUnitBytes ? 0 : unit_at(bytes, 0));
  if (end <= kUnitBytes || end % kUnitBytes != 0 || end > bytes.size()) {
    return part.at(kCharsMapKey)
        .fault(message("has {} bytes", bytes.size()),
               "the size of a trie, the trie, and replacements");
  }
  made.units_.clear();
  for (std::size_t at = kUnitBytes; at < end; at += kUnitBytes) {
    made.units_.push_back(unit_at(bytes, at));
  }
  made.replacements_ = bytes.substr(end);
  if ((end < bytes.size() && bytes.back() != '\0') ||
      internal::find_invalid_utf8(made.replacements_)) {
    return part.at(kCharsMapKey)
        .fault("has damaged replacements", "UTF-8 texts with a NUL at the end");
  }
  return made;
}

std::optional<std::string_view> CharsMap::replacement(std::size_t node) const {
  const std::size_t begin =
      node < units_.size() ? value_of(units_[node]) : replacements_.size();
  if (begin >= replacements_.size() ||
      continues_character(replacements_[begin])) {
    return {};
  }
  return replacements_.c_str() + begin;
}

std::optional<CharsMap::Match> CharsMap::find(std::string_view text,
                                              bool shortest) const {
  std::optional<Match> found;
  std::size_t node = offset_of(units_[0]);
  for (std::size_t n = 0; n < text.size() && !(shortest && found); ++n) {
    const std::uint32_t label = static_cast<unsigned char>(text[n]);
    node ^= label;
    if (node >= units_.size() || label_of(units_[node]) != label ||
        label == 0) {
      break;
    }
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    const bool is_whole =
        n + 1 == text.size() || !continues_character(text[n + 1]);
    if (const auto with = replacement(node);
        has_leaf(unit) && is_whole && with) {
      found = {n + 1, *with};
    }
  }
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
