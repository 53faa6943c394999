// Tokens that a tokenizer adds to texts, by their names in BERT's and RoBERTa's
// vocabularies.
#pragma once

#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Whether the token separates texts: [SEP] or </s>.
bool is_separator(std::string_view token);
// Whether the token is not part of the text: separators, [CLS], [PAD], <s> and
// <pad>.
bool is_special(std::string_view token);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
