#include "patterns/word_scanner.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

bool is_ascii_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

char folded(char letter, bool any_case) {
  return any_case && letter >= 'A' && letter <= 'Z'
             ? static_cast<char>(letter - 'A' + 'a')
             : letter;
}

}  // namespace

std::size_t end_of_contraction(std::string_view text, std::size_t at,
                               bool any_case) {
  if (text.size() - at < 2 || text[at] != '\'') {
    return at;
  }
  const char first = folded(text[at + 1], any_case);
  const char second =
      at + 2 < text.size() ? folded(text[at + 2], any_case) : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return at + 2;
  }
  if ((first == 'l' && second == 'l') ||
      ((first == 'r' || first == 'v') && second == 'e')) {
    return at + 3;
  }
  // The long s, which is an s in another case.
  return any_case && text.substr(at + 1).starts_with("\u017F") ? at + 3 : at;
}

std::size_t end_of_ascii_word(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first <= ' ' || first >= '\x7F' || (first >= '0' && first <= '9') ||
      is_ascii_letter(first)) {
    return at;
  }
  std::size_t end = at + 1;
  while (end < text.size() && is_ascii_letter(text[end])) {
    ++end;
  }
  return end == at + 1 ? at : end;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
