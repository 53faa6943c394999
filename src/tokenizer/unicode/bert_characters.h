// What a character is to BERT's normalizer, beside the classes that others use,
// too. The general categories are those of Unicode 8, as in the reference:
// models were trained on its choices.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Dropped from a text: NUL, U+FFFD, control and format characters.
bool is_dropped(char32_t code);
bool is_space(char32_t code);
// An ideograph that is a separate word.
bool is_cjk(char32_t code);
// What accents are once they are decomposed. Other marks take a place of their
// own.
bool is_nonspacing_mark(char32_t code);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
