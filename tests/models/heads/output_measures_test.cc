// What patched outputs are measured by, and its gradients by differences.

#include <cmath>
#include <limits>
#include <vector>

#include "headwise/heads/patching.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_gradient(const OutputMeasure& measure, std::vector<float> at) {
  const std::vector<double> gradient = measure.gradient(at);
  ASSERT_EQ(gradient.size(), at.size());
  for (std::size_t e = 0; e < at.size(); ++e) {
    constexpr float kStep = 0.0078125F;
    const float middle = at[e];
    at[e] = middle + kStep;
    const double above = measure.value(at);
    at[e] = middle - kStep;
    const double below = measure.value(at);
    at[e] = middle;
    EXPECT_NEAR(gradient[e], (above - below) / (2 * 0.0078125), 1e-4) << e;
  }
}

TEST(LogOddsTest, AreThoseOfTheLabelAgainstAllOthers) {
  const std::vector<float> clean = {0.5F, 2, -1, 1};
  const OutputMeasure measure = log_odds(3)(clean, clean).value();
  EXPECT_EQ(measure.label, 3);
  EXPECT_NEAR(measure.value(clean),
              1 - std::log(std::exp(0.5) + std::exp(2) + std::exp(-1)), 1e-12);
  expect_gradient(measure, clean);
}

TEST(LogOddsTest, TheLabelIsTheOnePredictedForTheCleanText) {
  const std::vector<float> clean = {0.5F, 2, -1};
  const std::vector<float> corrupted = {3, 2, -1};
  EXPECT_EQ(log_odds()(clean, corrupted).value().label, 1);
  EXPECT_THAT(log_odds(3)(clean, corrupted),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "patch",
                        .argument = "label",
                        .given = {"3"}}));
}

TEST(LogOddsTest, LargeLogitsDoNotOverflow) {
  const std::vector<float> clean = {1000, 900, -1000};
  const OutputMeasure measure = log_odds(0)(clean, clean).value();
  EXPECT_NEAR(measure.value(clean), 100, 1e-9);
  expect_gradient(measure, clean);
}

TEST(LogOddsTest, TheOnlyLabelIsCertain) {
  const std::vector<float> clean = {0.5F};
  EXPECT_EQ(log_odds()(clean, clean).value().value(clean), kInfinity);
}

TEST(TowardCorruptedTest, GoesFromZeroToOne) {
  const std::vector<float> clean = {1, 2};
  const std::vector<float> corrupted = {3, -2};
  const OutputMeasure measure = toward_corrupted()(clean, corrupted).value();
  EXPECT_FALSE(measure.label);
  EXPECT_NEAR(measure.value(clean), 0, 1e-12);
  EXPECT_NEAR(measure.value(corrupted), 1, 1e-12);
  const std::vector<float> aside = {5, 4};  // at a right angle to the way
  EXPECT_NEAR(measure.value(aside), 0, 1e-12);
  expect_gradient(measure, aside);
}

TEST(TowardCorruptedTest, NeedsOutputsThatDiffer) {
  const std::vector<float> clean = {1, 2};
  EXPECT_THAT(toward_corrupted()(clean, clean),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "patch",
                        .argument = "corrupted"}));
}

}  // namespace
}  // namespace headwise::testing_support
