#include "tokenizer/chars_map.h"

#include "interop/utf8.h"
#include "tokenizer/base64.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kUnitBytes = 4;

// A number of 4 bytes, the lowest first.
std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t n = kUnitBytes; n-- > 0;) {
    unit = unit << 8U | static_cast<unsigned char>(bytes[at + n]);
  }
  return unit;
}

// What a unit of the trie says.
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x8000'00FFU; }
bool has_leaf(std::uint32_t unit) { return (unit >> 8U & 1U) != 0; }
std::uint32_t offset_of(std::uint32_t unit) {
  return unit >> 10U << ((unit & 0x200U) >> 6U);
}
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFF'FFFFU; }

}  // namespace

Result<CharsMap> CharsMap::make(std::string_view bytes, const JsonPart& part) {
  if (bytes.size() < kUnitBytes) {
    return part.fault(message("has {} bytes", bytes.size()),
                      "the size of a trie, the trie, and replacements");
  }
  const std::size_t size = unit_at(bytes, 0);
  bytes.remove_prefix(kUnitBytes);
  if (size == 0 || size % kUnitBytes != 0 || size > bytes.size()) {
    return part.fault(
        message("has a trie of {} bytes in {} bytes", size, bytes.size()),
        message("a multiple of {} that fits", kUnitBytes));
  }
  CharsMap made;
  made.units_.clear();
  for (std::size_t at = 0; at < size; at += kUnitBytes) {
    made.units_.push_back(unit_at(bytes, at));
  }
  made.replacements_ = bytes.substr(size);
  if (!made.replacements_.empty() && made.replacements_.back() != '\0') {
    return part.fault("has a replacement without an end", "a NUL at its end");
  }
  if (internal::find_invalid_utf8(made.replacements_)) {
    return part.fault("has replacements that are not UTF-8 text");
  }
  return made;
}

Result<CharsMap> CharsMap::read(const JsonPart& part) {
  std::optional<std::string> text;
  HEADWISE_TRY(part.get(kCharsMapKey, text));
  if (!text) {
    return CharsMap();
  }
  const std::optional<std::string> bytes = decode_base64(*text);
  return bytes ? make(*bytes, part.at(kCharsMapKey))
               : part.unexpected(kCharsMapKey, "base64");
}

std::optional<std::string_view> CharsMap::replacement(std::size_t node) const {
  if (node >= units_.size()) {
    return {};
  }
  const std::size_t begin = value_of(units_[node]);
  if (begin >= replacements_.size() ||
      continues_character(replacements_[begin])) {
    return {};
  }
  const std::size_t end = replacements_.find('\0', begin);
  return std::string_view(replacements_).substr(begin, end - begin);
}

std::optional<CharsMap::Match> CharsMap::find(std::string_view text,
                                              bool shortest) const {
  std::optional<Match> found;
  std::size_t node = offset_of(units_[0]);
  for (std::size_t n = 0; n < text.size(); ++n) {
    const std::uint32_t label = static_cast<unsigned char>(text[n]);
    node ^= label;
    if (node >= units_.size() || label_of(units_[node]) != label ||
        label == 0) {
      break;
    }
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    const bool whole =
        n + 1 == text.size() || !continues_character(text[n + 1]);
    if (!has_leaf(unit) || !whole) {
      continue;
    }
    if (const auto with = replacement(node)) {
      found = {n + 1, *with};
      if (shortest) {
        break;
      }
    }
  }
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
