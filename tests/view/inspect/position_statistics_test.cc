// Means that are 0 whatever a head does are no numbers.
#include "inspect/position_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headwise/base/tensor.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/steps/mask.h"

namespace headwise {
namespace {

constexpr std::size_t kLength = 4;

struct Asked {
  AttentionOptions options{};
  StatisticsOptions statistics{.rows = true};
};

AttentionSpec spec_of(const Asked& asked) {
  return AttentionSpec::create({.B = 2,
                                .Hq = 2,
                                .Hkv = 1,
                                .Lq = kLength,
                                .Lkv = kLength,
                                .D = 1,
                                .Dv = 0},
                               asked.options, {.statistics = asked.statistics})
      .value();
}

// Of head h, where everything else stays.
struct Known {
  bool next;
  bool separator;
  bool operator==(const Known&) const = default;
};
Known known(const AttentionSpec& spec, std::size_t h) {
  PooledStatistics pooled;
  pooled.means = Tensor<float, 2>::create({2, kStatistics}).value();
  leave_out_unknown(spec, pooled);
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    EXPECT_TRUE(statistic == Statistic::next ||
                statistic == Statistic::separator ||
                pooled.mean(h, statistic) == 0);
  }
  return {!std::isnan(pooled.mean(h, Statistic::next)),
          !std::isnan(pooled.mean(h, Statistic::separator))};
}

TEST(PositionStatisticsTest, NoSeparatorsAreAmongTheKeys) {
  EXPECT_EQ(known(spec_of({}), 0), (Known{true, false}));
  auto separators = Tensor<bool, 2>::create({2, kLength}).value();
  const Asked asked = {.statistics = {.rows = true, .separators = separators}};
  EXPECT_EQ(known(spec_of(asked), 1), (Known{true, false}));
  separators(1, 2) = true;
  EXPECT_EQ(known(spec_of(asked), 1), (Known{true, true}));
  EXPECT_FALSE(has_separator(spec_of(asked), 0));
  EXPECT_TRUE(has_separator(spec_of(asked), 1));
}

TEST(PositionStatisticsTest, NoQueryMayAttendToTheNextKey) {
  EXPECT_FALSE(known(spec_of({.options = {.mask = causal()}}), 0).next);
  // Query 0 is then at position 3, and no query's next key exists.
  EXPECT_FALSE(known(spec_of({.options = {.query_start = 3}}), 0).next);
  EXPECT_TRUE(known(spec_of({.options = {.query_start = 2}}), 0).next);
  EXPECT_TRUE(known(spec_of({.options = {.query_start = -4}}), 0).next);
  EXPECT_FALSE(known(spec_of({.options = {.query_start = -5}}), 0).next);
}

TEST(PositionStatisticsTest, AHeadOrASequenceOfItsOwnMayAttendToIt) {
  auto pairs = Tensor<bool, 4>::create({2, 2, kLength, kLength}).value();
  pairs(1, 1, 2, 3) = true;
  Asked asked = {.options = {.mask = dense<4>(pairs, {Axis::B, Axis::H,
                                                      Axis::Lq, Axis::Lkv})}};
  const AttentionSpec spec = spec_of(asked);
  EXPECT_FALSE(known(spec, 0).next);
  EXPECT_TRUE(known(spec, 1).next);
  EXPECT_FALSE(may_attend_to_next(spec, 0, 1));
  EXPECT_TRUE(may_attend_to_next(spec, 1, 1));
  // Query 2 is padding.
  auto lengths = Tensor<std::int64_t, 1>::create({2}).value();
  lengths(0) = lengths(1) = 2;
  asked.statistics.query_lengths = lengths;
  EXPECT_FALSE(known(spec_of(asked), 1).next);
}

}  // namespace
}  // namespace headwise
