#include "tokenizer/offset_trim.h"

#include <algorithm>
#include <cstddef>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr char32_t kByteLevelSpace = 0x120;

bool is_token_space(char32_t code) {
  return code == kByteLevelSpace || (code >= 0x9 && code <= 0xD) ||
         code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

std::size_t spaces_before(std::string_view token) {
  std::size_t count = 0;
  while (!token.empty()) {
    const Character character = first_character(token);
    if (!is_token_space(character.code)) {
      break;
    }
    token.remove_prefix(character.bytes);
    ++count;
  }
  return count;
}

std::size_t spaces_after(std::string_view token) {
  std::size_t count = 0;
  while (!token.empty()) {
    const Character character = last_character(token);
    if (!is_token_space(character.code)) {
      break;
    }
    token.remove_suffix(character.bytes);
    ++count;
  }
  return count;
}

}  // namespace

void trim_offsets(std::string_view text, std::string_view token,
                  bool keeps_only, ByteSpan& span) {
  std::size_t before = spaces_before(token);
  before -= before == 1 && keeps_only ? 1 : 0;
  for (; before > 0 && span.begin < span.end; --before) {
    span.begin += first_character(text.substr(span.begin)).bytes;
  }
  std::size_t after = spaces_after(token);
  std::size_t end = span.end;
  for (; after > 0 && end > 0; --after) {
    end -= last_character(text.substr(0, end)).bytes;
  }
  if (after == 0) {  // else the text has fewer characters there
    span.end = std::max(end, span.begin);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
