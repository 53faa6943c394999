// What a causal model should predict, and the score of one text.
#pragma once

#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/tokens.h"
#include "headwise/train/next_token.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Of one text, from its logits (tokens, vocab_size). Errors: shape_mismatch;
// out_of_range for a token that the logits do not have; out_of_memory.
Result<NextTokenScore> next_token_score(const std::vector<TokenId>& text,
                                        TensorView<const float, 2> logits);
// For each row of the model's logits, the next token, or kIgnoredTarget for the
// last of a text.
std::vector<std::int64_t> next_tokens(const RaggedTokens& texts);

}  // namespace headwise::inline HEADWISE_ABI
