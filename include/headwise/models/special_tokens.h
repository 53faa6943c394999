// Tokens that a tokenizer adds to texts, by their names in BERT's and RoBERTa's
// vocabularies.
#pragma once

#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether the token separates texts: [SEP] or </s>.
inline bool is_separator(std::string_view token) {
  return token == "[SEP]" || token == "</s>";
}
// Whether the token is not part of the text: separators, [CLS], [PAD], <s> and
// <pad>.
inline bool is_special(std::string_view token) {
  return is_separator(token) || token == "[CLS]" || token == "[PAD]" ||
         token == "<s>" || token == "<pad>";
}

}  // namespace headwise::inline HEADWISE_ABI
