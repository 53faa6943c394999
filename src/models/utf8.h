// UTF-8 text, character by character.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodedCharacter {
  char32_t code = 0;
  std::size_t bytes = 0;
};

// The character that `text` begins with; nothing where no valid one begins
// (overlong forms, surrogates and what lies beyond U+10FFFF are invalid).
std::optional<DecodedCharacter> decode_utf8(std::string_view text);

// Where the first byte stands that is part of no character.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t code);

// bad_data where there is such a byte, with the parts of `about`: "is not UTF-8
// text: its byte 3 (0xff) begins no character".
Status check_utf8(ErrorDetails about, std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI
