// ByteLevel, GPT-2's pre-tokenizer: words as the characters, or the bytes, of
// its alphabet of 256.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::unique_ptr<PreTokenizer>> read_byte_level_words(
    const JsonPart& part, ByteLevelEnd end);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
