// UTF-8 text, character by character.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headwise/interop/file_subject.h"  // IWYU pragma: export

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

struct DecodedCharacter {
  char32_t code = 0;
  std::size_t bytes = 0;
};

// The character that `text` begins with; nothing where no valid one begins
// (overlong forms, surrogates and what lies beyond U+10FFFF are invalid).
std::optional<DecodedCharacter> decode_utf8(std::string_view text);

// The position of the first byte that is not part of a character.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
