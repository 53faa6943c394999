// How well a causal model predicts the next tokens of texts:
//
//   loss      for each text, the mean over its tokens but the first of
//             -log p(token | the tokens before it)
//   repeats   the tokens of a text that come after the same token as once
//             before: t[i], where t[j - 1] = t[i - 1] and t[j] = t[i] for a
//             j < i. What an induction head predicts.
//   right     those of them that have the largest logit
//
// Example:
//   auto done = next_token_scores(model, {{7, 9, 5, 7, 9}}).value();
//   done[0].repeats;  // 1, the last token
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/causal_model.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct NextTokenScore {
  double loss = 0;  // 0 for a text of fewer than two tokens
  std::size_t repeats = 0;
  std::size_t right = 0;
};

// For each text. Errors: those of CausalModel::logits().
Result<std::vector<NextTokenScore>> next_token_scores(
    const CausalModel& model, const RaggedTokens& texts,
    const CausalOptions& options = {});

// The share of the repeats of all texts that is right; NaN without any.
double accuracy_on_repeats(std::span<const NextTokenScore> scores);

// For each row of the model's logits, the next token, or kIgnoredTarget for the
// last of a text. Errors: out_of_memory.
Result<std::vector<std::int64_t>> next_tokens(const RaggedTokens& texts);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
