#include "headwise/heads/find_heads.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "heads/offset_profile.h"
#include "heads/stub_model.h"
#include "heads/text_layers.h"
#include "heads/uniform_score.h"
#include "headwise/attention/statistics.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// Texts of many lengths, more than go through the layers together; text 3 has
// no token, and no token occurs twice in the texts of one or two tokens.
RaggedTokens some_texts() {
  RaggedTokens texts(25);
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const std::size_t length = n == 3 ? 0 : 1 + n * 13 % 61;
    for (std::size_t t = 0; t < length; ++t) {
      texts[n].push_back(static_cast<TokenId>((n + t * t) % 37 + 2));
    }
    if (length > 9) {
      texts[n].back() = 1;  // a separator
    }
  }
  return texts;
}

using Head = std::pair<std::size_t, std::size_t>;  // layer, number

// The scores of one text at a time, from the parts that other tests hold.
std::map<Head, std::vector<double>> scores_one_by_one(const StubModel& model,
                                                      const RaggedTokens& texts,
                                                      HeadPattern pattern) {
  std::map<Head, std::vector<double>> scores;
  std::map<Head, std::vector<OffsetProfile>> profiles;
  for (const auto& ids : texts) {
    if (ids.empty()) {
      continue;
    }
    const auto separators = separators_in(model, ids).value();
    const auto see = [&](const TextLayer& at) -> Status {
      const std::vector<std::size_t> heads = model.heads_in(at.layer);
      const bool causal = model.shape().causal;
      for (std::size_t h = 0; h < heads.size(); ++h) {
        if (pattern == HeadPattern::positional) {
          profiles[{at.layer, heads[h]}].push_back(
              offset_profiles(at.query, at.key, causal, at.options).value()[h]);
        } else {
          scores[{at.layer, heads[h]}].push_back(
              pattern_scores(pattern,
                             {.ids = ids, .separators = separators.elements()},
                             at.query, at.key, causal, at.options)
                  .value()[h]);
        }
      }
      return ok();
    };
    EXPECT_TRUE(visit_text_layers(model, {ids}, {}, see));
  }
  for (const auto& [head, of_texts] : profiles) {
    scores[head] = positional_scores(of_texts);
  }
  return scores;
}

class FindHeadsTest : public testing::TestWithParam<bool> {
 protected:
  StubModel model_{GetParam()};
  RaggedTokens texts_ = some_texts();
};
INSTANTIATE_TEST_SUITE_P(, FindHeadsTest, testing::Bool(), [](const auto& of) {
  return of.param ? "Causal" : "Bidirectional";
});

TEST_P(FindHeadsTest, AveragesTheScoresOfEachTextAlone) {
  for (std::size_t n = 0; n < kHeadPatterns; ++n) {
    const auto pattern = static_cast<HeadPattern>(n);
    const auto found = find_heads(model_, texts_, pattern).value();
    const auto expected = scores_one_by_one(model_, texts_, pattern);
    ASSERT_EQ(found.heads.size(), 7U);
    EXPECT_EQ(found.texts + found.left_out, texts_.size());
    EXPECT_GE(found.left_out, 1U);
    for (const FoundHead& head : found.heads) {
      const MeanInterval mean =
          mean_interval(expected.at({head.layer, head.head}));
      EXPECT_EQ(head.score.mean, mean.mean) << name_of(pattern);
      if (pattern == HeadPattern::positional) {
        EXPECT_TRUE(std::isnan(head.score.low) && std::isnan(head.score.high));
      } else {
        EXPECT_EQ(head.score.low, mean.low);
      }
      EXPECT_EQ(head.score.count, found.texts);
    }
    for (std::size_t rank = 1; rank < found.heads.size(); ++rank) {
      EXPECT_GE(found.heads[rank - 1].score.mean, found.heads[rank].score.mean);
    }
  }
}

TEST_P(FindHeadsTest, ComparesWithEqualAttentionOnTheSameTexts) {
  double sum = 0;
  double count = 0;
  for (const auto& ids : texts_) {
    const double score =
        uniform_score(HeadPattern::duplicate, {.ids = ids}, GetParam());
    sum += std::isnan(score) ? 0 : score;
    count += std::isnan(score) ? 0 : 1;
  }
  const auto found = find_heads(model_, texts_, HeadPattern::duplicate).value();
  EXPECT_DOUBLE_EQ(found.uniform, sum / count);
  EXPECT_EQ(static_cast<double>(found.texts), count);
}

TEST_P(FindHeadsTest, DoesNotDependOnTheThreads) {
  const auto expected =
      find_heads(model_, texts_, HeadPattern::induction).value();
  for (const std::size_t threads : {1U, 3U}) {
    const Executor executor = Executor::with_threads(threads).value();
    const auto found = find_heads(model_, texts_, HeadPattern::induction,
                                  {.executor = &executor})
                           .value();
    for (std::size_t n = 0; n < found.heads.size(); ++n) {
      EXPECT_EQ(found.heads[n].head, expected.heads[n].head);
      EXPECT_EQ(found.heads[n].score.mean, expected.heads[n].score.mean);
      EXPECT_EQ(found.heads[n].score.high, expected.heads[n].score.high);
    }
  }
}

TEST_P(FindHeadsTest, LooksAtTheLayersAskedFor) {
  const std::vector<std::size_t> layers = {1};
  const auto found =
      find_heads(model_, texts_, HeadPattern::self, {.layers = layers}).value();
  std::vector<std::size_t> numbers;
  for (const FoundHead& head : found.heads) {
    EXPECT_EQ(head.layer, 1U);
    numbers.push_back(head.head);
  }
  EXPECT_THAT(numbers, testing::UnorderedElementsAre(0, 1, 3));
}

TEST_P(FindHeadsTest, CountsTextsAsItGoes) {
  std::vector<std::size_t> seen;
  ASSERT_TRUE(find_heads(model_, texts_, HeadPattern::self,
                         {.progress = [&](std::size_t done, std::size_t total) {
                           EXPECT_EQ(total, texts_.size() - 1);
                           seen.push_back(done);
                         }}));
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), texts_.size() - 1);  // not the empty one
}

TEST_P(FindHeadsTest, HasNoMeanWithoutATextThatApplies) {
  const auto found =
      find_heads(model_, {{2, 3}, {}, {4}}, HeadPattern::induction).value();
  EXPECT_EQ(found.texts, 0U);
  EXPECT_EQ(found.left_out, 3U);
  EXPECT_TRUE(std::isnan(found.heads[0].score.mean));
  EXPECT_TRUE(std::isnan(found.uniform));
}

TEST_P(FindHeadsTest, HeadsThatOverflowComeLastWithoutAScore) {
  model_.overflow(2);  // the last of the last layer, head 3 before pruning
  for (std::size_t n = 0; n < kHeadPatterns; ++n) {
    const auto pattern = static_cast<HeadPattern>(n);
    if (GetParam() && pattern == HeadPattern::next) {
      continue;  // the attention weight of no key
    }
    const auto found = find_heads(model_, texts_, pattern).value();
    EXPECT_EQ(found.heads.back().layer, 1U) << name_of(pattern);
    EXPECT_EQ(found.heads.back().head, 3U);
    EXPECT_TRUE(std::isnan(found.heads.back().score.mean)) << name_of(pattern);
    EXPECT_FALSE(std::isnan(found.heads.front().score.mean));
    EXPECT_GE(found.texts, 2U);
    EXPECT_EQ(found.heads.front().score.count, found.texts);
  }
}

TEST_P(FindHeadsTest, PositionalNeedsTwoTextsWithTokens) {
  const auto pattern = HeadPattern::positional;
  EXPECT_EQ(find_heads(model_, {{2, 3}, {}}, pattern).value().texts, 0U);
  EXPECT_EQ(find_heads(model_, {{2, 3}, {}, {4}}, pattern).value().texts, 2U);
}

TEST_P(FindHeadsTest, StatisticsOverTextsAreTheirMeans) {
  const auto heads = statistics_over_texts(model_, texts_).value();
  ASSERT_EQ(heads.size(), 7U);
  EXPECT_EQ(heads[6].layer, 1U);
  EXPECT_EQ(heads[6].head, 3U);
  for (const auto& [pattern, statistic] :
       {std::pair(HeadPattern::previous, Statistic::previous),
        std::pair(HeadPattern::first, Statistic::first)}) {
    const auto expected = scores_one_by_one(model_, texts_, pattern);
    for (const AveragedHead& head : heads) {
      const MeanInterval mean =
          mean_interval(expected.at({head.layer, head.head}));
      EXPECT_EQ(head.of(statistic).mean, mean.mean);
      EXPECT_EQ(head.of(statistic).high, mean.high);
      EXPECT_EQ(head.of(statistic).count, texts_.size() - 1);
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
