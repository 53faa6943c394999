#include "unicode/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kBytes = 256;

constexpr bool stands_for_itself(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

struct ByteAlphabet {
  std::array<char32_t, kBytes> characters{};
  // The byte of each character, plus 1; 0: none. The last one is U+0143.
  std::array<std::uint16_t, 0x144> bytes{};
};

constexpr ByteAlphabet kByteAlphabet = [] {
  ByteAlphabet alphabet;
  char32_t next = kBytes;
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    const char32_t character =
        stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.characters[byte] = character;
    alphabet.bytes[character] = static_cast<std::uint16_t>(byte + 1);
  }
  return alphabet;
}();

}  // namespace

char32_t byte_character(unsigned char byte) {
  return kByteAlphabet.characters[byte];
}

std::optional<unsigned char> byte_of(char32_t character) {
  if (character >= kByteAlphabet.bytes.size() ||
      kByteAlphabet.bytes[character] == 0) {
    return {};
  }
  return static_cast<unsigned char>(kByteAlphabet.bytes[character] - 1);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
