#include "unicode/character_class.h"

#include <algorithm>
#include <span>
#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

std::uint32_t next_varint(const std::uint8_t*& bytes) {
  std::uint32_t number = 0;
  unsigned shift = 0;
  for (; *bytes >= 128; ++bytes, shift += 7) {
    number |= (*bytes & 127U) << shift;
  }
  return number | std::uint32_t{*bytes++} << shift;
}

}  // namespace

std::uint32_t leading_space(std::string_view text) {
  std::uint32_t size = 0;
  while (size < text.size()) {
    const Character next = first_character(text.substr(size));
    if (!is_white_space(next.code)) {
      break;
    }
    size += next.bytes;
  }
  return size;
}

std::uint32_t trailing_space(std::string_view text) {
  std::uint32_t size = 0;
  while (!text.empty() && is_white_space(last_character(text).code)) {
    size += last_character(text).bytes;
    text.remove_suffix(last_character(text).bytes);
  }
  return size;
}

LowerCase lower_case(char32_t code) {
  if (code < 0x80) {
    return {code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code};
  }
  if (code == 0x130) {
    return {'i', 0x307};
  }
  const std::span runs(kLowerCase, kLowerCaseRuns);
  const auto run =
      std::ranges::lower_bound(runs, code, {}, &LowerCaseRun::last);
  if (run == runs.end() || code < run->first ||
      (code - run->first) % run->step != 0) {
    return {code};
  }
  return {code + static_cast<char32_t>(run->difference)};
}

unsigned script_class(char32_t code) {
  const std::span runs(kScripts, kScriptRuns);
  const auto after = std::ranges::upper_bound(runs, code << 8U | 0xFFU);
  return *(after - 1) & 0xFFU;
}

std::vector<char32_t> named_class(std::string_view name, bool in_bracket) {
  std::string key;
  for (const char letter : name) {
    if (letter != ' ' && letter != '-' && letter != '_') {
      const bool is_capital = letter >= 'A' && letter <= 'Z';
      key += static_cast<char>(is_capital ? letter - 'A' + 'a' : letter);
    }
  }
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
