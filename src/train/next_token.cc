#include "headwise/train/next_token.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/module/loss.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Of one text, whose logits (tokens, vocab_size) these are.
Result<NextTokenScore> score_of(const std::vector<TokenId>& text,
                                TensorView<const float, 2> logits) {
  NextTokenScore score;
  if (text.size() < 2) {
    return score;
  }
  const std::size_t asked = text.size() - 1;
  const auto loss = cross_entropy({logits.data(), {asked, logits.extent(1)}},
                                  {text.data() + 1, {asked}});
  HEADWISE_TRY(loss);
  score.loss = loss->loss;
  std::set<std::pair<TokenId, TokenId>> seen;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (seen.emplace(text[i - 1], text[i]).second) {
      continue;
    }
    const std::span row(&logits(i - 1, 0), logits.extent(1));
    ++score.repeats;
    score.right += std::ranges::max_element(row) - row.begin() == text[i];
  }
  return score;
}

}  // namespace

Result<std::vector<NextTokenScore>> next_token_scores(
    const CausalModel& model, const RaggedTokens& texts,
    const CausalOptions& options) try {
  const auto logits = model.logits(texts, options);
  HEADWISE_TRY(logits);
  std::vector<NextTokenScore> scores;
  std::size_t row = 0;
  for (const auto& text : texts) {
    const auto score = score_of(text, {logits->data() + row * logits->extent(1),
                                       {text.size(), logits->extent(1)}});
    HEADWISE_TRY(score);
    scores.push_back(*score);
    row += text.size();
  }
  return scores;
} catch (...) {
  return caught_out_of_memory();
}

double accuracy_on_repeats(std::span<const NextTokenScore> scores) {
  std::size_t repeats = 0;
  std::size_t right = 0;
  for (const NextTokenScore& score : scores) {
    repeats += score.repeats;
    right += score.right;
  }
  return repeats == 0
             ? std::numeric_limits<double>::quiet_NaN()
             : static_cast<double>(right) / static_cast<double>(repeats);
}

Result<std::vector<std::int64_t>> next_tokens(const RaggedTokens& texts) try {
  std::vector<std::int64_t> next;
  for (const auto& text : texts) {
    if (!text.empty()) {
      next.insert(next.end(), text.begin() + 1, text.end());
      next.push_back(kIgnoredTarget);
    }
  }
  return next;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
