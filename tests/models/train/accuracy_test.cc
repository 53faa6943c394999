#include <gtest/gtest.h>

#include <cmath>

#include "headwise/train/sentence_classifier.h"

namespace headwise {
namespace {

Answers answers_with(std::size_t right, std::size_t total) {
  Answers answers;
  for (std::size_t n = 0; n < total; ++n) {
    answers.right.push_back(n < right);
  }
  return answers;
}

TEST(AnswersTest, TheIntervalIsWilsons) {
  // Wilson's score interval of 81 in 263, as R's prop.test() has it.
  const auto [low, high] = answers_with(81, 263).interval();
  EXPECT_NEAR(low, 0.2553, 1e-4);
  EXPECT_NEAR(high, 0.3662, 1e-4);
}

TEST(AnswersTest, AllRightIsNoCertainty) {
  const auto [low, high] = answers_with(20, 20).interval();
  EXPECT_LT(low, 0.9);
  EXPECT_NEAR(high, 1, 1e-12);
}

TEST(AnswersTest, AChangeIsThatOfPairs) {
  Answers before = answers_with(90, 100);
  Answers after = before;
  const AccuracyChange none = change_between(before, after);
  EXPECT_EQ(none.change, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 0);
  after.right[0] = after.right[1] = after.right[2] = false;
  after.right[99] = true;
  // (1 - 3) / 100, and 1.96 * sqrt(4 - 100 * 0.02^2) / 100.
  const AccuracyChange by = change_between(before, after);
  EXPECT_NEAR(by.change, -0.02, 1e-12);
  EXPECT_NEAR(by.high - by.change, 1.959964 * std::sqrt(3.96) / 100, 1e-6);
}

TEST(AnswersTest, TheMeanOfOrdersHasStudentsInterval) {
  const MeanWithInterval mean = mean_of({0.8, 0.9, 1.0});
  EXPECT_NEAR(mean.mean, 0.9, 1e-12);
  EXPECT_NEAR(mean.high - mean.mean, 4.303 * 0.1 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(mean_of({0.5}).low, 0.5);
}

}  // namespace
}  // namespace headwise
