#include "unicode/named_class.h"

#include <algorithm>
#include <span>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;

std::string property_key(std::string_view name) {
  std::string key;
  for (const char letter : name) {
    if (letter != ' ' && letter != '-' && letter != '_') {
      key += letter >= 'A' && letter <= 'Z'
                 ? static_cast<char>(letter - 'A' + 'a')
                 : letter;
    }
  }
  return key;
}

class PackedNumbers {
 public:
  explicit PackedNumbers(const std::uint8_t* bytes) : bytes_(bytes) {}

  std::uint32_t next() {
    std::uint32_t number = 0;
    unsigned shift = 0;
    while (*bytes_ >= 128) {
      number |= (*bytes_++ & 127U) << shift;
      shift += 7;
    }
    return number | std::uint32_t{*bytes_++} << shift;
  }

 private:
  const std::uint8_t* bytes_;
};

}  // namespace

std::vector<CharacterRange> named_class(std::string_view name,
                                        bool in_bracket) {
  std::string key = property_key(name);
  if (in_bracket && key == "word") {
    key = "word]";
  }
  const std::span known(kNamedClasses, kNamedClassCount);
  const auto row = std::ranges::lower_bound(
      known, std::string_view(key), {}, [](const NamedClass& known_class) {
        return std::string_view(known_class.name);
      });
  std::vector<CharacterRange> ranges;
  if (row == known.end() || row->name != key) {
    return ranges;
  }
  PackedNumbers packed(kNamedClassRuns + row->offset);
  const std::uint32_t edges = packed.next();
  char32_t at = 0;
  for (std::uint32_t edge = 0; edge < edges; edge += 2) {
    const char32_t first = at + packed.next();
    at = edge + 1 < edges ? first + packed.next() : kLastCharacter + 1;
    ranges.push_back({first, at - 1});
  }
  return ranges;
}

std::vector<CharacterRange> complement(
    const std::vector<CharacterRange>& ranges) {
  std::vector<CharacterRange> others;
  char32_t at = 0;
  for (const CharacterRange& range : ranges) {
    if (at < range.first) {
      others.push_back({at, range.first - 1});
    }
    at = range.last + 1;
  }
  if (at <= kLastCharacter) {
    others.push_back({at, kLastCharacter});
  }
  return others;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
