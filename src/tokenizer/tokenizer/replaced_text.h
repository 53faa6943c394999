// Texts in which other texts are replaced.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Each `from` in `text` becomes `to`, from left to right. An empty `from` is
// before each character and at the end.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// Undoes the spaces that tokenizers put around English punctuation: " ." and
// the like.
void clean_up_spaces(std::string& text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
