// How well a causal model predicts the next tokens of texts:
//
//   loss      for each text, the mean over its tokens but the first of
//             -log p(token | the tokens before it)
//   tokens    those that are predicted: all but the first
//   repeats   the tokens of a text that come after the same token as once
//             before: t[i], where t[j - 1] = t[i - 1] and t[j] = t[i] for a
//             j < i. What an induction head predicts.
//   right_    those of them that have the largest logit
//   loss_on_repeats  the loss over the repeats alone
//
// Losses are in nats.
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
#include "headwise/base/tensor_view.h"
#include "headwise/models/language_model.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct NextTokenScore {
  double loss = 0;  // 0 for a text of fewer than two tokens
  std::size_t tokens = 0;
  std::size_t right_tokens = 0;
  std::size_t repeats = 0;
  std::size_t right_repeats = 0;
  double loss_on_repeats = 0;  // 0 for a text without any
};

// For each text; the logits of a few at a time are in memory. Errors: those of
// LanguageModel::logits().
Result<std::vector<NextTokenScore>> next_token_scores(
    const LanguageModel& model, const RaggedTokens& texts,
    const ModelPass& pass = {});

// The share of the repeats of all texts that is right; NaN without any.
double accuracy_on_repeats(std::span<const NextTokenScore> scores);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
