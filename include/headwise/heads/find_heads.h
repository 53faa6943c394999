// The heads of a model, ranked by how well they match a pattern, each with the
// interval of its score over texts.
//
// Example:
//   RaggedTokens texts = repeated_random_tokens(model, {}).value();
//   FoundHeads found =
//       find_heads(model, texts, HeadPattern::induction).value();
//   found.heads[0].score.mean;  // of the best head
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/heads/mean_interval.h"
#include "headwise/heads/pattern.h"
#include "headwise/heads/text_layers.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct FoundHead {
  std::size_t layer = 0;
  std::size_t head = 0;  // its number before pruning
  // Over the texts in which its attention weights are finite; without an
  // interval for HeadPattern::positional.
  MeanInterval score;
};

struct FoundHeads {
  // The largest mean first, NaN last; among equals by layer and head. A mean is
  // NaN if `texts` is 0 or no text has finite attention weights.
  std::vector<FoundHead> heads;
  double uniform = 0;        // the mean of uniform_score() over the texts
  std::size_t texts = 0;     // to which the pattern applies
  std::size_t left_out = 0;  // the other texts
};

// The bits depend neither on the threads nor on the order of the other texts.
// Errors: those of visit_text_layers(), pattern_scores() and
// offset_profiles().
Result<FoundHeads> find_heads(const TextModel& model, const RaggedTokens& texts,
                              HeadPattern pattern, const TextsPass& pass = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
