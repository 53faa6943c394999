// GPT-2's alphabet: a printable character for each of the 256 bytes, so that
// any text is one of printable characters. Printable bytes of Latin-1 stand for
// themselves, the others for U+0100 and up, in order.
#pragma once

#include <optional>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

char32_t byte_character(unsigned char byte);
// Nothing for a character outside the alphabet.
std::optional<unsigned char> byte_of(char32_t character);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
