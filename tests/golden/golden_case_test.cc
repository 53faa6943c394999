// The comparison itself: what it lets pass and what it does not.
#include "golden/golden_case.h"

#include <filesystem>
#include <limits>

#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

GoldenCase small_case(const std::string& name) {
  return GoldenCase(std::filesystem::path(HEADWISE_GOLDEN_DATA) / name);
}

// The case's own float32 tensor, as if we had computed it.
template <std::size_t Rank>
Got own(const GoldenCase& golden, const std::string& tensor) {
  const auto numbers = golden.floats<Rank>(tensor);
  return {{numbers.extents().begin(), numbers.extents().end()},
          {numbers.elements().begin(), numbers.elements().end()}};
}

TEST(GoldenCaseTest, ATensorMatchesItselfAlsoWithABatchAxisOfOne) {
  const GoldenCase golden = small_case("seed001_padding");
  Got scores = own<4>(golden, "scores");
  EXPECT_TRUE(golden.matches("scores", scores));
  scores.extents.insert(scores.extents.begin(), 1);
  EXPECT_TRUE(golden.matches("scores", scores));
}

TEST(GoldenCaseTest, TheToleranceIsThatOfTheTensorAndTheWorstIsNamed) {
  const GoldenCase golden = small_case("seed001_padding");
  const double atol = golden.json()["tensors"]["scores"]["atol"];
  const Got scores = own<4>(golden, "scores");
  Got near = scores;
  near.elements[123] += static_cast<float>(0.9 * atol);
  EXPECT_TRUE(golden.matches("scores", near));
  Got far = near;
  far.elements[17] += static_cast<float>(30 * atol);
  far.elements[18] += static_cast<float>(20 * atol);
  const auto result = golden.matches("scores", far);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(),
              HasSubstr("seed001_padding: scores(0, 0, 1, 7) is "));
}

TEST(GoldenCaseTest, NaNAndInfinityMatchOnlyThemselves) {
  const GoldenCase golden = small_case("seed001_padding");
  for (const float wrong :
       {std::nanf(""), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    Got scores = own<4>(golden, "scores");
    scores.elements[5] = wrong;
    EXPECT_FALSE(golden.matches("scores", scores)) << wrong;
  }
}

TEST(GoldenCaseTest, MinusInfinityMatchesTheFillOfMaskedScoresAndNothingElse) {
  const GoldenCase golden = small_case("seed001_nopeak");
  Got masked = own<4>(golden, "masked_scores");
  for (float& score : masked.elements) {
    if (score < -1e11f) {
      score = -std::numeric_limits<float>::infinity();
    }
  }
  EXPECT_TRUE(golden.matches("masked_scores", masked));
  Got too_much = masked;
  too_much.elements[0] = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(golden.matches("masked_scores", too_much));
  Got too_little = masked;
  too_little.elements[9] = 0;
  EXPECT_FALSE(golden.matches("masked_scores", too_little));
}

TEST(GoldenCaseTest, AnotherShapeIsNamed) {
  const GoldenCase golden = small_case("seed001_padding");
  Got scores = own<4>(golden, "scores");
  scores.extents = {2, 5, 10, 10};
  const auto result = golden.matches("scores", scores);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(),
              HasSubstr("scores has shape (2, 5, 10, 10), expected (5, 2, 10, "
                        "10)"));
}

TEST(GoldenCaseTest, WhatIsToBeReproducedIsEveryStepAndTheOutput) {
  const auto names = small_case("seed001_padding").to_reproduce();
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "embedded", "q", "k", "v", "q_heads", "k_heads",
                         "v_heads", "scores", "masked_scores", "weights",
                         "context", "concat", "output"));
}

}  // namespace
}  // namespace headwise::testing_support
