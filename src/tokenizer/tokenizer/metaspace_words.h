// Metaspace, SentencePiece's pre-tokenizer: spaces become a visible character
// (U+2581), which begins each word.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::unique_ptr<PreTokenizer>> read_metaspace_words(
    const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
