#include "headwise/train/next_token.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/label_probe.h"
#include "headwise/module/optimizer.h"
#include "module/row_loss.h"
#include "run/float_environment.h"
#include "train/next_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kNextToken = "next_token_score";

// The place of the text's first token that `vocab_size` logits lack.
Status check_tokens(const std::vector<TokenId>& text, std::size_t vocab_size) {
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] < 0 || static_cast<std::uint64_t>(text[n]) >= vocab_size) {
      return value_error(kNextToken, "text[" + std::to_string(n) + "]",
                         std::to_string(text[n]),
                         message("below {}", vocab_size),
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

// Texts [begin, end).
Status add_scores(const LanguageModel& model, const RaggedTokens& texts,
                  std::size_t begin, std::size_t end, const ModelPass& pass,
                  std::vector<NextTokenScore>& scores) {
  const auto at = [&](std::size_t n) {
    return texts.begin() + static_cast<std::ptrdiff_t>(n);
  };
  HEADWISE_ASSIGN(const auto logits, model.logits({at(begin), at(end)}, pass));
  std::size_t row = 0;
  for (std::size_t n = begin; n < end; ++n) {
    HEADWISE_ASSIGN(
        const auto score,
        next_token_score(texts[n], {logits.data() + row * logits.extent(1),
                                    {texts[n].size(), logits.extent(1)}}));
    scores.push_back(score);
    row += texts[n].size();
  }
  return ok();
}

}  // namespace

Result<NextTokenScore> next_token_score(const std::vector<TokenId>& text,
                                        TensorView<const float, 2> logits) {
  HEADWISE_TRY(check_shape(kNextToken, "logits", logits.extents(),
                           "(tokens, vocab_size)",
                           Extents<2>{text.size(), logits.extent(1)}));
  HEADWISE_TRY(check_tokens(text, logits.extent(1)));
  NextTokenScore score;
  if (text.size() < 2) {
    return score;
  }
  const FloatEnvironment environment;
  score.tokens = text.size() - 1;
  double loss = 0;
  double loss_on_repeats = 0;
  std::set<std::pair<TokenId, TokenId>> seen;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const auto next = static_cast<std::size_t>(text[i]);
    const double of_token =
        row_loss(logits, i - 1, next, row_sums(logits, i - 1));
    loss += of_token;
    const std::size_t right = predicted_label(logits, i - 1) == next ? 1 : 0;
    score.right_tokens += right;
    if (!seen.emplace(text[i - 1], text[i]).second) {
      ++score.repeats;
      score.right_repeats += right;
      loss_on_repeats += of_token;
    }
  }
  score.loss = loss / static_cast<double>(score.tokens);
  if (score.repeats != 0) {
    score.loss_on_repeats =
        loss_on_repeats / static_cast<double>(score.repeats);
  }
  return score;
}

Result<std::vector<NextTokenScore>> next_token_scores(
    const LanguageModel& model, const RaggedTokens& texts,
    const ModelPass& pass) try {
  constexpr std::size_t kTokens = 512;  // at a time
  std::vector<NextTokenScore> scores;
  std::size_t begin = 0;
  std::size_t tokens = 0;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    if (n > begin && tokens + texts[n].size() > kTokens) {
      HEADWISE_TRY(add_scores(model, texts, begin, n, pass, scores));
      begin = n;
      tokens = 0;
    }
    tokens += texts[n].size();
  }
  HEADWISE_TRY(add_scores(model, texts, begin, texts.size(), pass, scores));
  return scores;
} catch (...) {
  return caught_out_of_memory();
}

double accuracy_on_repeats(std::span<const NextTokenScore> scores) {
  std::size_t repeats = 0;
  std::size_t right = 0;
  for (const NextTokenScore& score : scores) {
    repeats += score.repeats;
    right += score.right_repeats;
  }
  return repeats == 0
             ? std::numeric_limits<double>::quiet_NaN()
             : static_cast<double>(right) / static_cast<double>(repeats);
}

std::vector<std::int64_t> next_tokens(const RaggedTokens& texts) {
  std::vector<std::int64_t> next;
  for (const auto& text : texts) {
    if (!text.empty()) {
      next.insert(next.end(), text.begin() + 1, text.end());
      next.push_back(kIgnoredTarget);
    }
  }
  return next;
}

}  // namespace headwise::inline HEADWISE_ABI
