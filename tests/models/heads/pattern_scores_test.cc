#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "heads/naive_weights.h"
#include "heads/uniform_score.h"
#include "headwise/attention/statistics.h"
#include "headwise/heads/find_heads.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kLength = 101;  // more than two tiles of queries

// Each token occurs several times, but the last one only once.
std::vector<TokenId> repeated_tokens() {
  std::vector<TokenId> ids(kLength);
  for (std::size_t i = 0; i < kLength; ++i) {
    ids[i] = static_cast<TokenId>(i * i % 23);
  }
  ids.back() = 77;
  return ids;
}

// Whether query i should attend to key j: the definition, pair by pair.
bool wanted(HeadPattern pattern, const PatternText& text, std::size_t i,
            std::size_t j) {
  switch (pattern) {
    case HeadPattern::previous:
      return j + 1 == i;
    case HeadPattern::next:
      return j == i + 1;
    case HeadPattern::self:
      return j == i;
    case HeadPattern::first:
      return j == 0;
    case HeadPattern::separator:
      return text.separators[j];
    case HeadPattern::duplicate:
      return j != i && text.ids[j] == text.ids[i];
    case HeadPattern::induction:
      return j > 0 && j <= i && text.ids[j - 1] == text.ids[i];
    case HeadPattern::positional:
      break;
  }
  return false;
}

// The score from a matrix of weights of all pairs.
double naive_score(HeadPattern pattern, const PatternText& text,
                   const Tensor<double, 3>& weights, std::size_t h,
                   bool causal) {
  const bool all =
      pattern != HeadPattern::duplicate && pattern != HeadPattern::induction;
  double sum = 0;
  double queries = 0;
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    bool counts = all;
    for (std::size_t j = 0; j < (causal ? i + 1 : text.ids.size()); ++j) {
      if (wanted(pattern, text, i, j)) {
        counts = true;
        sum += weights(h, i, j);
      }
    }
    queries += counts ? 1 : 0;
  }
  return sum / queries;
}

class PatternScoresTest : public ::testing::TestWithParam<bool> {
 protected:
  PatternText text() const {
    return {.ids = ids_, .separators = separators_.elements()};
  }
  std::vector<double> scores(HeadPattern pattern) const {
    return pattern_scores(pattern, text(), heads_.query, heads_.key, causal_,
                          options_)
        .value();
  }

  bool causal_ = GetParam();
  AttentionOptions options_ = {.mask = causal_ ? causal() : Mask()};
  Heads heads_ = random_heads(kLength, 4, 2, 8, 31);
  std::vector<TokenId> ids_ = repeated_tokens();
  Tensor<bool, 1> separators_ = coin_tosses<1>({kLength}, 7, 0.1);
};
INSTANTIATE_TEST_SUITE_P(, PatternScoresTest, ::testing::Bool(),
                         [](const auto& of) {
                           return of.param ? "Causal" : "Bidirectional";
                         });

TEST_P(PatternScoresTest, MatchWholeMatricesInDouble) {
  const auto weights = naive_weights(heads_, causal_);
  for (std::size_t n = 0; n < kHeadPatterns; ++n) {
    const auto pattern = static_cast<HeadPattern>(n);
    if (pattern == HeadPattern::positional) {
      continue;
    }
    const std::vector<double> found = scores(pattern);
    ASSERT_EQ(found.size(), 4U);
    for (std::size_t h = 0; h < found.size(); ++h) {
      EXPECT_NEAR(found[h], naive_score(pattern, text(), weights, h, causal_),
                  1e-6)
          << name_of(pattern) << " of head " << h;
    }
  }
}

TEST_P(PatternScoresTest, AreTheStatistics) {
  AttentionOptions options;
  options.mask = causal_ ? causal() : Mask();
  const TensorView<const float, 4> no_value(nullptr, {1, kLength, 2, 0});
  const TensorView<float, 4> no_output(nullptr, {1, kLength, 4, 0});
  const TensorView<const bool, 2> separators(separators_.data(), {1, kLength});
  const auto done =
      attention_statistics(
          heads_.query.view(), heads_.key.view(), no_value,
          {.output = no_output}, options,
          {.statistics = {.rows = true, .separators = separators}})
          .value();
  for (const auto& [pattern, statistic] :
       {std::pair(HeadPattern::previous, Statistic::previous),
        std::pair(HeadPattern::next, Statistic::next),
        std::pair(HeadPattern::self, Statistic::self),
        std::pair(HeadPattern::first, Statistic::first),
        std::pair(HeadPattern::separator, Statistic::separator)}) {
    const std::vector<double> found = scores(pattern);
    for (std::size_t h = 0; h < found.size(); ++h) {
      EXPECT_EQ(found[h], static_cast<double>(done.pooled.mean(h, statistic)));
    }
  }
}

TEST_P(PatternScoresTest, OfEqualAttentionAreTheUniformScores) {
  heads_.query = filled<float, 4>({1, kLength, 4, 8}, 0);
  for (std::size_t n = 0; n < kHeadPatterns; ++n) {
    const auto pattern = static_cast<HeadPattern>(n);
    if (pattern != HeadPattern::positional) {
      EXPECT_NEAR(scores(pattern)[1], uniform_score(pattern, text(), causal_),
                  1e-6)
          << name_of(pattern);
    }
  }
  EXPECT_EQ(uniform_score(HeadPattern::positional, text(), causal_), 0);
}

TEST_P(PatternScoresTest, DoNotDependOnTheThreads) {
  const Executor one = Executor::with_threads(1).value();
  AttentionOptions alone = options_;
  alone.executor = &one;
  EXPECT_EQ(pattern_scores(HeadPattern::induction, text(), heads_.query,
                           heads_.key, causal_, alone)
                .value(),
            scores(HeadPattern::induction));
}

TEST_P(PatternScoresTest, AreNoNumberWhereNoQueryHasAKey) {
  for (std::size_t i = 0; i < kLength; ++i) {
    ids_[i] = static_cast<TokenId>(i);
  }
  separators_ = filled<bool, 1>({kLength}, false);
  for (const auto pattern : {HeadPattern::duplicate, HeadPattern::induction,
                             HeadPattern::separator}) {
    for (const double score : scores(pattern)) {
      EXPECT_TRUE(std::isnan(score)) << name_of(pattern);
    }
    EXPECT_TRUE(std::isnan(uniform_score(pattern, text(), causal_)));
  }
}

TEST_P(PatternScoresTest, RefuseATextOfAnotherLength) {
  ids_.pop_back();
  EXPECT_THAT(pattern_scores(HeadPattern::self, text(), heads_.query,
                             heads_.key, causal_, options_),
              HasError({.code = ErrorCode::shape_mismatch,
                        .argument = "ids",
                        .given = {"(100)"}}));
  ids_.push_back(0);
  EXPECT_THAT(
      pattern_scores(
          HeadPattern::self,
          {.ids = ids_, .separators = separators_.elements().first(7)},
          heads_.query, heads_.key, causal_, options_),
      HasError({.code = ErrorCode::shape_mismatch, .argument = "separators"}));
}

TEST_P(PatternScoresTest, RefuseThePatternOfSeveralTexts) {
  EXPECT_THAT(
      pattern_scores(HeadPattern::positional, text(), heads_.query, heads_.key,
                     causal_, options_),
      HasError({.code = ErrorCode::invalid_argument, .argument = "pattern"}));
}

// The definition by hand: a b c a b, of equal attention.
TEST(UniformScoreTest, CountsTheKeysOfEachQuery) {
  const std::vector<TokenId> ids = {5, 6, 7, 5, 6};
  const PatternText text{.ids = ids};
  // Queries 3 and 4, which see 4 and 5 keys.
  EXPECT_DOUBLE_EQ(uniform_score(HeadPattern::induction, text, true),
                   (1.0 / 4 + 1.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(uniform_score(HeadPattern::duplicate, text, true),
                   (1.0 / 4 + 1.0 / 5) / 2);
  // Without a mask queries 0 and 1 see their duplicates, too.
  EXPECT_DOUBLE_EQ(uniform_score(HeadPattern::duplicate, text, false), 0.2);
  EXPECT_DOUBLE_EQ(uniform_score(HeadPattern::next, text, true), 0);
  EXPECT_DOUBLE_EQ(uniform_score(HeadPattern::next, text, false), 0.8 * 0.2);
}

}  // namespace
}  // namespace headwise::testing_support
