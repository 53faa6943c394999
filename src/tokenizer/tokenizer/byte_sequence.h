// Bytes that may not be UTF-8, as decoders get them from tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline constexpr std::string_view kReplacementCharacter =
    "\xEF\xBF\xBD";  // U+FFFD

enum class SequenceKind {
  whole,   // a character
  cut,     // the text ends within a character
  broken,  // no character begins with these bytes
};

struct ByteSequence {
  std::size_t bytes = 0;
  SequenceKind kind = SequenceKind::broken;
};

// What `text`, which is not empty, begins with. Broken bytes are the longest
// ones that could have begun a character, as Unicode recommends.
ByteSequence first_sequence(std::string_view text);

// Moves the characters of `bytes` to `text`, with U+FFFD for each broken
// sequence. Leaves the bytes of a cut character unless `last`.
void move_characters(std::string& bytes, std::string& text, bool last);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
