// The four models. Each takes what it needs out of `spec`; `model` is the part
// "model" of its JSON.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/token_model.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

using MadeModel = Result<std::unique_ptr<TokenModel>>;

MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec, bool byte_level);
MadeModel make_unigram(const JsonPart& model, TokenizerSpec& spec);
MadeModel make_wordpiece(const JsonPart& model, TokenizerSpec& spec);
MadeModel make_wordlevel(const JsonPart& model, TokenizerSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
