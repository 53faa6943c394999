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
  std::vector<char32_t> edges = named_class(property, in_bracket);
  if (edges.empty()) {
    return {};
  }
  if (negated) {  // from 0 to 0 is nothing
    edges.insert(edges.begin(), 0);
    edges.push_back(0x110000);
  }
  std::string text = "[";
  for (std::size_t edge = 0; edge < edges.size(); edge += 2) {
    if (edges[edge] < edges[edge + 1]) {
      add_code(text, edges[edge]);
      text += '-';
      add_code(text, edges[edge + 1] - 1);
    }
  }
  return text.size() > 1 ? text + "]" : std::string(kNothing);
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
