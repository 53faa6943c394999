#include <array>
#include <charconv>
#include <vector>

#include "patterns/expression_rewriter.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

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
  const auto add = [&text](std::uint32_t code) {
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), code, 16).ptr;
    text.append("\\x{").append(digits.data(), end).append("}");
  };
  for (std::size_t edge = 0; edge < edges.size(); edge += 2) {
    if (edges[edge] < edges[edge + 1]) {
      add(edges[edge]);
      text += '-';
      add(edges[edge + 1] - 1);
    }
  }
  return text.size() > 1 ? text + "]" : std::string(kNothing);
}

std::string word_boundary_expression(bool negated) {
  const std::string word = class_expression("word", false, false) + ")";
  return "(?:(?<=" + word + (negated ? "(?=" : "(?!") + word + "|(?<!" + word +
         (negated ? "(?!" : "(?=") + word + ")";
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
