// Valid UTF-8 text, character by character, at full speed. Texts are checked
// once, where they enter (check_utf8()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Begins words in texts of SentencePiece.
inline constexpr std::string_view kWordBoundary = "\u2581";

struct Character {
  char32_t code = 0;
  std::uint32_t bytes = 0;
};

inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// The first character of `text`, which is not empty.
inline Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t n) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[n]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1};
  }
  if (lead < 0xE0) {
    return {(lead & 0x1FU) << 6U | (byte(1) & 0x3FU), 2};
  }
  if (lead < 0xF0) {
    return {(lead & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU),
            3};
  }
  return {(lead & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U |
              (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU),
          4};
}

// Where the ASCII characters that `text` has from `at` on end.
inline std::size_t ascii_end(std::string_view text, std::size_t at) {
  for (std::uint64_t bytes = 0; at + sizeof bytes <= text.size();
       at += sizeof bytes) {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    if ((bytes & 0x8080'8080'8080'8080U) != 0) {
      break;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) {
    ++at;
  }
  return at;
}

// Calls use(code, begin, end) of each character with its bytes [begin, end).
template <class Use>
void for_each_character(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    use(character.code, at, at + character.bytes);
    at += character.bytes;
  }
}

inline Character last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && continues_character(text[begin])) {
    --begin;
  }
  return first_character(text.substr(begin));
}

inline void append_character(std::string& text, char32_t code) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0U | code >> 6U);
    add(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  } else {
    add(0xF0U | code >> 18U);
    add(0x80U | (code >> 12U & 0x3FU));
    add(0x80U | (code >> 6U & 0x3FU));
    add(0x80U | (code & 0x3FU));
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
