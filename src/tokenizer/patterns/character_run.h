// Runs of characters of one class in valid UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/version.h"
#include "unicode/character_class.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Bytes of the character at `at` if it is of the set, otherwise 0; also at the
// end of the text.
inline std::size_t size_of_one(std::string_view text, std::size_t at,
                               CategorySet set) {
  if (at >= text.size()) {
    return 0;
  }
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    return set.has(static_cast<Category>(kKinds[byte] & kCategoryBits)) ? 1 : 0;
  }
  const Character character = first_character(text.substr(at));
  return set.has(category(character.code)) ? character.bytes : 0;
}

// Where the run of characters of the set that begins at `at` ends.
inline std::size_t end_of_run(std::string_view text, std::size_t at,
                              CategorySet set) {
  while (const std::size_t size = size_of_one(text, at, set)) {
    at += size;
  }
  return at;
}

// The same, of at most `most` characters.
inline std::size_t end_of_run(std::string_view text, std::size_t at,
                              CategorySet set, std::size_t most) {
  for (; most > 0; --most) {
    const std::size_t size = size_of_one(text, at, set);
    if (size == 0) {
      break;
    }
    at += size;
  }
  return at;
}

// Where the last character before `at` begins.
inline std::size_t before(std::string_view text, std::size_t at) {
  do {
    --at;
  } while (continues_character(text[at]));
  return at;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
