#include "patterns/class_expression.h"

#include <array>
#include <charconv>
#include <vector>

#include "unicode/named_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

void add_code(std::string& text, char32_t code) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 std::uint32_t{code}, 16);
  text += "\\x{";
  text.append(digits.data(), end.ptr);
  text += '}';
}

}  // namespace

std::string class_expression(std::string_view property, bool negated,
                             bool in_bracket) {
  std::vector<CharacterRange> ranges = named_class(property, in_bracket);
  if (ranges.empty()) {
    return {};
  }
  if (negated) {
    ranges = complement(ranges);
    if (ranges.empty()) {
      return std::string(kNothing);
    }
  }
  std::string text = "[";
  for (const CharacterRange& range : ranges) {
    add_code(text, range.first);
    text += '-';
    add_code(text, range.last);
  }
  return text + "]";
}

std::string word_boundary_expression(bool negated) {
  const std::string word = class_expression("word", false, false);
  const std::string before = "(?<=" + word + ")";
  const std::string not_before = "(?<!" + word + ")";
  const std::string after = "(?=" + word + ")";
  const std::string not_after = "(?!" + word + ")";
  return negated ? "(?:" + before + after + "|" + not_before + not_after + ")"
                 : "(?:" + before + not_after + "|" + not_before + after + ")";
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
