#include "unicode/character_class.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The place of a name's class among all; none: their number.
std::size_t class_place(std::string_view wanted) {
  const std::string_view names = kClassNames;
  std::size_t place = 0;
  for (std::size_t at = 0, end = 0; at < names.size(); at = end + 1) {
    end = std::min(names.find_first_of("=,\n", at), names.size());
    if (names.substr(at, end - at) == wanted) {
      break;
    }
    place += kClassNames[end] != '=' ? 1 : 0;
  }
  return place;
}

std::vector<char32_t> category_edges(CategorySet set) {
  std::vector<char32_t> edges;
  char32_t at = 0;
  kKinds.for_each_run([&](std::uint32_t length, unsigned kind) {
    const bool is_inside = edges.size() % 2 == 1;
    if (set.has(static_cast<Category>(kind & kCategoryBits)) != is_inside) {
      edges.push_back(at);
    }
    at += length;
  });
  return edges;
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

const std::uint8_t* CodeTable::unpack() const {
  auto values = std::make_unique<std::uint8_t[]>(kCodes);
  std::uint8_t* end = values.get();
  for_each_run([&](std::uint32_t length, std::uint8_t value) {
    end = std::fill_n(end, length, value);
  });
  const std::uint8_t* first = nullptr;
  if (!values_.compare_exchange_strong(first, values.get())) {
    return first;  // another thread's
  }
  return values.release();
}

LowerCase lower_case(char32_t code) {
  if (code == 0x130) {
    return {'i', 0x307};
  }
  const std::int32_t difference = kLowerCaseDifferences[kLowerCases[code]];
  return {code + static_cast<char32_t>(difference)};
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
  PackedNumbers numbers(kClassEdges);
  std::vector<char32_t> stored;
  CategorySet set;
  char32_t at = 0;
  std::size_t place = class_place(key);
  do {
    if (numbers.is_at_end()) {
      return {};
    }
    const std::uint32_t header = numbers.next();
    set.bits = header % 2 == 1 ? numbers.next() : 0;
    stored.resize(header / 2);
    for (char32_t& edge : stored) {
      edge = at = (at + numbers.next()) % CodeTable::kCodes;
    }
  } while (place-- > 0);
  std::vector<char32_t> edges;
  std::ranges::set_symmetric_difference(stored, category_edges(set),
                                        std::back_inserter(edges));
  if (edges.size() % 2 == 1) {
    edges.push_back(0x110000);
  }
  return edges;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
