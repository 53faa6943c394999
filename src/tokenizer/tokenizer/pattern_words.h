// Split: words by a regular expression or a text.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "patterns/pattern.h"
#include "tokenizer/json_part.h"
#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::unique_ptr<PreTokenizer>> read_split_words(const JsonPart& part);

// {"String": TEXT} or {"Regex": EXPRESSION} under the key `pattern`.
Result<Pattern> read_pattern(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
