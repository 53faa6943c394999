// The closed form of the number of pairs against counting them one by one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "headwise/distribute/shard_plan.h"

namespace headwise {
namespace {

std::uint64_t counted(const KeyBand& band, const TokenRange& queries,
                      const TokenRange& keys, std::int64_t query_start) {
  std::uint64_t pairs = 0;
  for (std::size_t i = queries.first; i < queries.end(); ++i) {
    for (std::size_t n = keys.first; n < keys.end(); ++n) {
      const std::int64_t p = static_cast<std::int64_t>(i) + query_start;
      const auto j = static_cast<std::int64_t>(n);
      const bool reaches =
          !band.left || p - *band.left <= j || j < band.keep_first;
      pairs += reaches && (!band.right || j <= p + *band.right) ? 1 : 0;
    }
  }
  return pairs;
}

std::int64_t any(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange(low, high + 1);
}

std::optional<std::int64_t> any_side() {
  return any(0, 3) == 0 ? std::nullopt : std::optional(any(0, 40));
}

TokenRange any_range() {
  return {static_cast<std::size_t>(any(0, 30)),
          static_cast<std::size_t>(any(0, 40))};
}

RC_GTEST_PROP(KeyBandTest, PairsAreThoseThatCountingFinds, ()) {
  const KeyBand band = {
      .left = any_side(), .right = any_side(), .keep_first = any(0, 50)};
  const TokenRange queries = any_range();
  const TokenRange keys = any_range();
  const std::int64_t query_start = any(-60, 60);
  RC_ASSERT(band.pairs(queries, keys, query_start) ==
            counted(band, queries, keys, query_start));
}

TEST(KeyBandTest, KnowsLongSequences) {
  EXPECT_EQ(KeyBand::causal().pairs({0, 1000}, {0, 1000}), 500'500U);
  const std::size_t tokens = std::size_t{1} << 31;
  const TokenRange all = {0, tokens};
  EXPECT_EQ(KeyBand().pairs(all, all), tokens * tokens);
  EXPECT_EQ(KeyBand::causal().pairs(all, all), tokens * (tokens + 1) / 2);
  const KeyBand wide = {.left = KeyBand::kMost, .right = KeyBand::kMost};
  EXPECT_EQ(wide.pairs(all, all), tokens * tokens);
  // Key j is in reach of the queries up to j, then of those from j on.
  EXPECT_EQ(wide.pairs(all, all, KeyBand::kMost), tokens * (tokens + 1) / 2);
  EXPECT_EQ(wide.pairs(all, all, -KeyBand::kMost), tokens * (tokens + 1) / 2);
}

TEST(KeyBandTest, RefusesNegativeSides) {
  EXPECT_TRUE(KeyBand::causal().check("plan_shards"));
  EXPECT_EQ((KeyBand{.left = -1}).check("plan_shards").error().message(),
            "plan_shards: band.left is -1, expected a number from 0 to " +
                std::to_string(KeyBand::kMost));
  EXPECT_EQ((KeyBand{.right = KeyBand::kMost + 1}).check("x").error().code(),
            ErrorCode::out_of_range);
  EXPECT_FALSE((KeyBand{.keep_first = -1}).check("x"));
}

}  // namespace
}  // namespace headwise
