// What a character is to BERT's tokenizer. The classes are Unicode's (general
// categories, canonical decomposition, lower case) in the versions that the
// reference tokenizer has of them: models were trained on its choices, so a
// character that Unicode knows since is to it what it is to the reference.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Dropped from a text: NUL, U+FFFD, control and format characters.
bool is_dropped(char32_t code);
bool is_space(char32_t code);
// An ideograph that is a separate word.
bool is_cjk(char32_t code);
// Each such character is a word of its own.
bool is_punctuation(char32_t code);
// A mark that takes no space: what accents are once they are decomposed.
bool is_accent(char32_t code);

// One or two characters: only U+0130 has two.
struct LowerCase {
  char32_t first = 0;
  char32_t second = 0;  // 0: none
};
LowerCase lower_case(char32_t code);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
