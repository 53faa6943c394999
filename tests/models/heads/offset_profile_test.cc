#include "heads/offset_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "heads/naive_weights.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr auto kFar = static_cast<std::int64_t>(kMostOffset);

struct NaiveOffset {
  double covered = 0;
  double excess = 0;
};

NaiveOffset naive_offset(const Tensor<double, 3>& weights, std::size_t h,
                         std::int64_t offset, bool causal) {
  const auto L = static_cast<std::int64_t>(weights.extent(1));
  double queries = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < L; ++i) {
    const std::int64_t j = i + offset;
    if (j >= 0 && j < (causal ? i + 1 : L)) {
      queries += 1;
      sum +=
          weights(h, static_cast<std::size_t>(i), static_cast<std::size_t>(j)) -
          1 / static_cast<double>(causal ? i + 1 : L);
    }
  }
  return queries == 0
             ? NaiveOffset()
             : NaiveOffset{queries / static_cast<double>(L), sum / queries};
}

std::vector<OffsetProfile> profiles_of(const Heads& heads, bool causal) {
  return offset_profiles(heads.query, heads.key, causal,
                         {.mask = causal ? headwise::causal() : Mask()})
      .value();
}

// Keys that are one-hot at their position; each query asks for the key that is
// `back` before it.
Heads looking_back(std::size_t L, std::size_t back, float strength = 60) {
  Heads heads{filled<float, 4>({1, L, 1, L}, 0),
              filled<float, 4>({1, L, 1, L}, 0)};
  for (std::size_t i = 0; i < L; ++i) {
    heads.key(0, i, 0, i) = 1;
    if (i >= back) {
      heads.query(0, i, 0, i - back) =
          strength * std::sqrt(static_cast<float>(L));
    }
  }
  return heads;
}

TEST(OffsetProfileTest, MatchesWholeMatricesInDouble) {
  for (const bool causal : {false, true}) {
    for (const std::size_t L : {1U, 5U, 101U}) {
      const Heads heads = random_heads(L, 4, 2, 8, 11);
      const auto weights = naive_weights(heads, causal);
      const auto profiles = profiles_of(heads, causal);
      ASSERT_EQ(profiles.size(), 4U);
      for (std::size_t h = 0; h < 4; ++h) {
        for (std::int64_t o = -kFar; o <= kFar; ++o) {
          const NaiveOffset expected = naive_offset(weights, h, o, causal);
          const auto n = static_cast<std::size_t>(o + kFar);
          EXPECT_NEAR(profiles[h].covered[n], expected.covered, 1e-6);
          EXPECT_NEAR(profiles[h].excess[n], expected.excess, 1e-6)
              << "L=" << L << " head " << h << " offset " << o;
        }
      }
    }
  }
}

// The formula, from profiles of random numbers.
TEST(PositionalScoresTest, MatchTheFormula) {
  std::vector<OffsetProfile> texts(4);
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const auto numbers = uniform<2>({2, texts[t].excess.size()},
                                    static_cast<std::uint32_t>(90 + t), 0, 1);
    for (std::size_t n = t; n < texts[t].excess.size(); ++n) {
      texts[t].covered[n] = numbers(0, n);
      texts[t].excess[n] = 2 * numbers(1, n) - 1;
    }
  }
  const std::vector<double> scores = positional_scores(texts);
  for (std::size_t t = 0; t < texts.size(); ++t) {
    double expected = 0;
    for (std::size_t n = 0; n < texts[t].excess.size(); ++n) {
      double sum = 0;
      double count = 0;
      for (std::size_t s = 0; s < texts.size(); ++s) {
        if (s != t && texts[s].covered[n] > 0) {
          sum += static_cast<double>(texts[s].excess[n]);
          count += 1;
        }
      }
      const double own = static_cast<double>(texts[t].excess[n]);
      if (count > 0) {
        expected += static_cast<double>(texts[t].covered[n]) *
                    std::min(std::max(own, 0.0), std::max(sum / count, 0.0));
      }
    }
    EXPECT_NEAR(scores[t], expected, 1e-12) << "text " << t;
  }
}

TEST(PositionalScoresTest, OfAFixedOffsetDoNotDependOnTheLength) {
  std::vector<OffsetProfile> texts;
  for (const std::size_t L : {40U, 90U, 150U}) {
    texts.push_back(profiles_of(looking_back(L, 2), false)[0]);
  }
  const std::vector<double> scores = positional_scores(texts);
  for (const double score : scores) {
    EXPECT_GT(score, 0.92);
    EXPECT_LE(score, 1);
  }
}

TEST(PositionalScoresTest, AreSmallForHeadsThatLookElsewhereInEachText) {
  std::vector<OffsetProfile> texts;
  for (const std::size_t back : {1U, 2U, 3U, 4U}) {
    texts.push_back(profiles_of(looking_back(60, back), false)[0]);
  }
  for (const double score : positional_scores(texts)) {
    EXPECT_LT(score, 0.05);
  }
}

TEST(PositionalScoresTest, OfEqualAttentionAreZero) {
  std::vector<OffsetProfile> texts;
  for (const bool causal : {false, true}) {
    for (const std::size_t L : {7U, 50U, 50U}) {
      texts.push_back(profiles_of(looking_back(L, 1, 0), causal)[0]);
    }
    for (const double score : positional_scores(texts)) {
      EXPECT_NEAR(score, 0, 1e-5);
    }
  }
}

TEST(PositionalScoresTest, NeedAnotherText) {
  EXPECT_TRUE(positional_scores({}).empty());
  std::vector<OffsetProfile> texts = {profiles_of(looking_back(9, 1), true)[0],
                                      OffsetProfile()};
  for (const double score : positional_scores(texts)) {
    EXPECT_TRUE(std::isnan(score));
  }
  texts.push_back(texts[0]);
  const std::vector<double> scores = positional_scores(texts);
  EXPECT_GT(scores[0], 0.5);
  EXPECT_TRUE(std::isnan(scores[1]));
  EXPECT_EQ(scores[2], scores[0]);
}

TEST(PositionalScoresTest, LeaveOutTextsWithNaN) {
  std::vector<OffsetProfile> texts;
  for (const std::size_t back : {1U, 2U, 3U}) {  // the others' means matter
    texts.push_back(profiles_of(looking_back(9, back), /*causal=*/true)[0]);
  }
  const std::vector<double> expected = positional_scores(texts);
  texts.push_back(texts[0]);
  texts[3].excess[kMostOffset - 1] = std::nanf("");
  const std::vector<double> scores = positional_scores(texts);
  EXPECT_EQ(scores[0], expected[0]);
  EXPECT_TRUE(std::isnan(scores[3]));
}

}  // namespace
}  // namespace headwise::testing_support
