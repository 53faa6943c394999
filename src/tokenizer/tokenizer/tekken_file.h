// Mistral's tekken.json: tiktoken's ranks with an expression and special
// tokens, whose ids come before those of the ranks.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// As in files of SentencePiece, control tokens are never found in a text
// (sentencepiece_file.h). Errors: bad_data.
Result<TokenizerSpec> parse_tekken(std::string_view text,
                                   const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
