// How well a language model predicts texts before and after pruning.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/heads/mean_interval.h"
#include "headwise/train/next_token.h"
#include "shell/json.h"

namespace headwise::cli {

// Of each text the mean loss and the share of right next tokens, of all and of
// those that repeat (train/next_token.h). A text of fewer than two tokens, or
// without repeats, has none.
struct NextTokens {
  MeanInterval loss;
  MeanInterval accuracy;
  MeanInterval accuracy_on_repeats;
};

struct PrunedNextTokens {
  std::size_t texts = 0;
  NextTokens before;
  NextTokens after;
  NextTokens change;  // of each text: after minus before
};

PrunedNextTokens next_tokens_between(std::span<const NextTokenScore> before,
                                     std::span<const NextTokenScore> after);

std::string text_of(const PrunedNextTokens& measured);
Json json_of(const PrunedNextTokens& measured);

}  // namespace headwise::cli
