#include <array>
#include <charconv>
#include <vector>

#include "patterns/expression_rewriter.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

std::string class_expression(std::string_view property, bool negated,
                             bool in_bracket) {
  const std::vector<char32_t> edges = named_class(property, in_bracket);
  std::string text = negated ? "[^" : "[";
  for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
    std::array<char, 8> digits{};
    const std::uint32_t code = edges[edge] - edge % 2;
    const auto end = std::to_chars(digits.begin(), digits.end(), code, 16).ptr;
    text.append("\\x{").append(digits.data(), end).append("}-", 2 - edge % 2);
  }
  return edges.empty() ? "" : text + "]";
}

std::string word_boundary(bool negated) {
  const std::string word = class_expression("word", false, false) + ")";
  return "(?:(?<=" + word + (negated ? "(?=" : "(?!") + word + "|(?<!" + word +
         (negated ? "(?!" : "(?=") + word + ")";
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
