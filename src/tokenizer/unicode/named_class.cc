#include "unicode/named_class.h"

#include <algorithm>
#include <span>
#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

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

std::uint32_t next_varint(const std::uint8_t*& bytes) {
  std::uint32_t number = 0;
  unsigned shift = 0;
  for (; *bytes >= 128; ++bytes, shift += 7) {
    number |= (*bytes & 127U) << shift;
  }
  return number | std::uint32_t{*bytes++} << shift;
}

}  // namespace

std::vector<char32_t> named_class(std::string_view name, bool in_bracket) {
  std::string key = property_key(name);
  if (in_bracket && key == "word") {
    key = "word]";
  }
  const std::span known(kNamedClasses, kNamedClassCount);
  const auto row = std::ranges::lower_bound(known, key, {}, &NamedClass::name);
  std::vector<char32_t> edges;
  if (row == known.end() || row->name != key) {
    return edges;
  }
  const std::uint8_t* packed = kNamedClassRuns + row->offset;
  edges.resize(next_varint(packed));
  char32_t at = 0;
  for (char32_t& edge : edges) {
    edge = at += next_varint(packed);
  }
  if (edges.size() % 2 == 1) {
    edges.push_back(0x110000);
  }
  return edges;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
