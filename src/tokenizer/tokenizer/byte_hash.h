// A fast hash of short texts, for tables in memory. It is not cryptographic,
// and differs between machines of different byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Both halves of a product of 128 bits: every bit depends on all bits.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64U);
}

inline std::uint64_t pair_hash(std::uint32_t left, std::uint32_t right) {
  return mixed(std::uint64_t{left} << 32U | right, 0x9E3779B97F4A7C15);
}

template <class Word>
std::uint64_t loaded(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Up to 8 bytes of the text. Texts of one size of at most 8 bytes are equal if
// these are. The loads may overlap, so that no size needs a loop.
inline std::uint64_t first_bytes(std::string_view text) {
  const char* const at = text.data();
  const std::size_t size = text.size();
  if (size >= 8) {
    return loaded<std::uint64_t>(at);
  }
  if (size >= 4) {
    return loaded<std::uint32_t>(at) | loaded<std::uint32_t>(at + size - 4)
                                           << 32U;
  }
  return size == 0 ? 0
                   : loaded<std::uint8_t>(at) |
                         loaded<std::uint8_t>(at + size / 2) << 8U |
                         loaded<std::uint8_t>(at + size - 1) << 16U;
}

inline std::uint64_t byte_hash(std::string_view text) {
  constexpr std::uint64_t kFirst = 0xA0761D6478BD642F;
  constexpr std::uint64_t kSecond = 0xE7037ED1A0B428DB;
  std::uint64_t hash = mixed(first_bytes(text) ^ kFirst, text.size() ^ kSecond);
  if (text.size() > 8) {
    for (std::size_t n = 8; n + 8 < text.size(); n += 8) {
      hash = mixed(loaded<std::uint64_t>(text.data() + n) ^ kFirst,
                   hash ^ kSecond);
    }
    hash = mixed(loaded<std::uint64_t>(text.data() + text.size() - 8) ^ kFirst,
                 hash ^ kSecond);
  }
  return hash;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
