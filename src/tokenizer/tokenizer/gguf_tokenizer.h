// The tokenizer in the metadata of a GGUF file.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// tokenizer.huggingface.json, or what the keys of tokenizer.ggml say. Errors:
// bad_data; unsupported for a model or a pre-tokenizer that is not known.
Result<TokenizerSpec> parse_gguf_tokenizer(std::string_view bytes,
                                           const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
