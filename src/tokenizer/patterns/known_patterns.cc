#include "patterns/known_patterns.h"

#include <algorithm>
#include <string>

#include "patterns/word_scanner.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

bool is_ascii_letter(char byte) {
  const int small = byte | 0x20;
  return small >= 'a' && small <= 'z';
}

}  // namespace

std::size_t end_of_contraction(std::string_view text, std::size_t at,
                               bool any_case) {
  const auto letter = [&](std::size_t place) {
    const char found = place < text.size() ? text[place] : '\0';
    return any_case ? found | 0x20 : found;
  };
  const int first = letter(at + 1);
  const int second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return at + 2;
  }
  if ((first == 'l' && second == 'l') ||
      ((first == 'r' || first == 'v') && second == 'e')) {
    return at + 3;
  }
  // The long s, which is an s in another case.
  return any_case && text.substr(at + 1).starts_with("\u017F") ? at + 3 : 0;
}

std::size_t end_of_ascii_word(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (first <= ' ' || first >= '\x7F' || (first >= '0' && first <= '9') ||
      is_ascii_letter(first)) {
    return 0;
  }
  std::size_t end = at + 1;
  while (end < text.size() && is_ascii_letter(text[end])) {
    ++end;
  }
  return end == at + 1 ? 0 : end;
}

void find_cjk(std::string_view text, std::vector<Match>& matches) {
  bool was_cjk = false;
  for (std::uint32_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    const bool is_cjk = (code >= 0x4E00 && code <= 0x9FA5) ||
                        (code >= 0x3040 && code <= 0x30FF);
    if (is_cjk && !was_cjk) {
      matches.push_back({at, at});
    }
    at += bytes;
    if (is_cjk) {
      matches.back().end = at;
    }
    was_cjk = is_cjk;
  }
}

KnownPattern known_pattern(std::string_view expression) {
  // Files write line ends as themselves or as \r and \n.
  std::string text;
  for (const char byte : expression) {
    text += byte == '\r'   ? "\\r"
            : byte == '\n' ? "\\n"
                           : std::string_view(&byte, 1);
  }
  const auto row =
      std::ranges::find(kKnownPatterns, text, &KnownRow::expression);
  return row == kKnownPatterns.end() ? nullptr : row->find;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
