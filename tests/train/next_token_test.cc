#include "headwise/train/next_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headwise/module/loss.h"
#include "headwise/train/repeated_words.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::HasError;

CausalModel model() {
  auto vocabulary = repeated_vocabulary().value();
  const CausalConfig config = {.vocab_size = vocabulary.size(),
                               .hidden_size = 8,
                               .num_layers = 1,
                               .num_heads = 2,
                               .max_positions = 8};
  return CausalModel::create(config, std::move(vocabulary), Seed{5}).value();
}

TEST(NextTokenTest, TheLossIsTheMeanOverTheTokensButTheFirst) {
  const CausalModel read = model();
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
    return next_token_scores(model(), {text}).value()[0].repeats;
  };
  EXPECT_EQ(repeats({7, 9, 5, 7, 9, 5}), 2u);
  EXPECT_EQ(repeats({7, 9, 7, 5}), 0u);
  EXPECT_EQ(repeats({7, 7, 7}), 1u);
  EXPECT_EQ(repeats({7}), 0u);
  EXPECT_EQ(repeats({}), 0u);
}

TEST(NextTokenTest, TheAccuracyIsThatOfAllTextsTogether) {
  const std::vector<NextTokenScore> scores = {
      {.repeats = 3, .right = 3}, {.repeats = 1, .right = 0}, {}};
  EXPECT_EQ(accuracy_on_repeats(scores), 0.75);
  EXPECT_TRUE(std::isnan(accuracy_on_repeats({})));
}

TEST(NextTokenTest, TheLastTokenOfATextHasNone) {
  EXPECT_THAT(next_tokens({{7, 9, 5}, {}, {6}}).value(),
              ElementsAre(9, 5, kIgnoredTarget, kIgnoredTarget));
  EXPECT_THAT(next_tokens({}).value(), IsEmpty());
}

TEST(NextTokenTest, ErrorsAreTheModels) {
  EXPECT_THAT(next_token_scores(model(), {{70}}),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "tokens[0][0]",
                        .given = {"70"},
                        .expected = {"67"}}));
}

}  // namespace
}  // namespace headwise
