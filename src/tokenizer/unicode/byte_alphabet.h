// GPT-2's alphabet: a printable character for each of the 256 bytes, so that
// any text is one of printable characters. Printable bytes of Latin-1 stand for
// themselves, the others for U+0100 and up, in order.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline constexpr auto kByteCharacters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < characters.size(); ++byte) {
    const bool is_printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    characters[byte] = is_printable ? byte : next++;
  }
  return characters;
}();

inline constexpr auto kCharacterBytes = [] {
  std::array<std::optional<unsigned char>, 0x144> bytes{};
  for (std::size_t byte = 0; byte < kByteCharacters.size(); ++byte) {
    bytes[kByteCharacters[byte]] = static_cast<unsigned char>(byte);
  }
  return bytes;
}();

inline char32_t byte_character(unsigned char byte) {
  return kByteCharacters[byte];
}

// Nothing for a character outside the alphabet.
inline std::optional<unsigned char> byte_of(char32_t character) {
  return character < kCharacterBytes.size() ? kCharacterBytes[character]
                                            : std::nullopt;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
