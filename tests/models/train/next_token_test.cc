#include "headwise/train/next_token.h"

#include <cmath>

#include "headwise/module/optimizer.h"
#include "models/small_causal.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/next_tokens.h"

namespace headwise::testing_support {
namespace {

std::unique_ptr<LanguageModel> model() {
  return small_causal_model({.vocab_size = 68,
                             .hidden_size = 8,
                             .num_layers = 1,
                             .num_heads = 2,
                             .max_positions = 8});
}

TEST(NextTokenTest, TheLossIsTheMeanOverTheTokensButTheFirst) {
  const auto owner = model();
  const LanguageModel& read = *owner;
  const RaggedTokens texts = {{7, 9, 5}, {6, 6}};
  const auto scores = next_token_scores(read, texts).value();
  const auto logits = read.logits(texts).value();
  const auto loss = [&](std::size_t row, std::size_t next) {
    double sum = 0;
    for (std::size_t c = 0; c < logits.extent(1); ++c) {
      sum += std::exp(static_cast<double>(logits(row, c)));
    }
    return std::log(sum) - static_cast<double>(logits(row, next));
  };
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_NEAR(scores[0].loss, (loss(0, 9) + loss(1, 5)) / 2, 1e-6);
  EXPECT_NEAR(scores[1].loss, loss(3, 6), 1e-6);
}

TEST(NextTokenTest, ARepeatFollowsTheTokenThatItFollowedBefore) {
  const auto repeats = [](const std::vector<TokenId>& text) {
    return next_token_scores(*model(), {text}).value()[0].repeats;
  };
  EXPECT_EQ(repeats({7, 9, 5, 7, 9, 5}), 2u);
  EXPECT_EQ(repeats({7, 9, 7, 5}), 0u);
  EXPECT_EQ(repeats({7, 7, 7}), 1u);
  EXPECT_EQ(repeats({7}), 0u);
  EXPECT_EQ(repeats({}), 0u);
}

TEST(NextTokenTest, AScoreComesFromLogits) {
  const std::vector<TokenId> text = {0, 1, 2, 0, 1, 2};
  auto logits = Tensor<float, 2>::create({6, 3}).value();
  const auto prefer = [&](std::size_t row, std::size_t token) {
    logits(row, token) = 2;
  };
  prefer(0, 1);  // right
  prefer(1, 1);
  prefer(2, 0);  // right
  prefer(3, 1);  // right, a repeat; the next repeat is wrong
  const auto score = next_token_score(text, logits.view()).value();
  EXPECT_EQ(score.tokens, 5u);
  EXPECT_EQ(score.right_tokens, 3u);
  EXPECT_EQ(score.repeats, 2u);
  EXPECT_EQ(score.right_repeats, 1u);
  const double right = std::log(std::exp(2) + 2) - 2;
  EXPECT_NEAR(score.loss, (4 * right + 2 + std::log(3)) / 5, 1e-12);
  // Row 4 prefers no token.
  EXPECT_NEAR(score.loss_on_repeats, (right + std::log(3)) / 2, 1e-12);
  const auto none = next_token_score({0, 1}, {logits.data(), {2, 3}}).value();
  EXPECT_EQ(none.loss_on_repeats, 0);
  EXPECT_THAT(next_token_score({0, 3}, logits.view()),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "next_token_score",
                        .argument = "logits"}));
  EXPECT_THAT(next_token_score({0, 1, 2, 0, 1, 3}, logits.view()),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "next_token_score",
                        .argument = "text[5]",
                        .given = {"3"}}));
}

TEST(NextTokenTest, ManyTextsHaveTheScoresOfEach) {
  const auto owner = model();
  const LanguageModel& read = *owner;
  RaggedTokens texts(200, {7, 9, 5, 7, 9});
  texts[150] = {6, 8};
  texts[199] = {};
  const auto scores = next_token_scores(read, texts).value();
  ASSERT_EQ(scores.size(), 200u);
  const auto alone = next_token_scores(read, {texts[0], texts[150]}).value();
  for (std::size_t n = 0; n < 199; ++n) {
    EXPECT_EQ(scores[n].loss, alone[n == 150 ? 1 : 0].loss) << n;
  }
  EXPECT_EQ(scores[199].tokens, 0u);
  EXPECT_TRUE(next_token_scores(read, {}).value().empty());
}

TEST(NextTokenTest, TheAccuracyIsThatOfAllTextsTogether) {
  const std::vector<NextTokenScore> scores = {
      {.repeats = 3, .right_repeats = 3},
      {.repeats = 1, .right_repeats = 0},
      {}};
  EXPECT_EQ(accuracy_on_repeats(scores), 0.75);
  EXPECT_TRUE(std::isnan(accuracy_on_repeats({})));
}

TEST(NextTokenTest, TheLastTokenOfATextHasNone) {
  EXPECT_THAT(next_tokens({{7, 9, 5}, {}, {6}}),
              ElementsAre(9, 5, kIgnoredTarget, kIgnoredTarget));
  EXPECT_THAT(next_tokens({}), IsEmpty());
}

TEST(NextTokenTest, ErrorsAreTheModels) {
  EXPECT_THAT(next_token_scores(*model(), {{70}}),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "tokens[0][0]",
                        .given = {"70"},
                        .expected = {"67"}}));
}

}  // namespace
}  // namespace headwise::testing_support
