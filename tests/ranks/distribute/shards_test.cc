// Who has which tokens, and what they see.
#include "distribute/shards.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "distribute/call_digest.h"
#include "distribute/chunks.h"
#include "headwise/attention/spec.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kTokens = 1024;
constexpr std::size_t kPiece = 256;

AttentionSpec spec_of(const AttentionShape& shape, const Mask& mask = {}) {
  return AttentionSpec::create(shape, {.mask = mask}, {}).value();
}

AttentionSpec spec_with(const Mask& mask) {
  return spec_of({.B = 1,
                  .Hq = 1,
                  .Hkv = 1,
                  .Lq = kTokens,
                  .Lkv = kTokens,
                  .D = 1,
                  .Dv = 1},
                 mask);
}

// A piece of the tokens for each of four ranks.
ShardPlan four_pieces() {
  ShardPlan plan;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    plan.queries.push_back({{0, {rank * kPiece, kPiece}}, rank});
  }
  plan.keys = plan.queries;
  return plan;
}

Shards shards_with(const Mask& mask) {
  return shards_of(four_pieces(), 4, spec_with(mask).mask, "test").value();
}

using Ranges = std::vector<PartRange>;

MATCHER_P(AreRanges, expected, "") {
  return std::ranges::equal(arg, expected, [](const auto& a, const auto& b) {
    return a.first == b.first && a.count == b.count;
  });
}

TEST(ShardsTest, QueriesSeeRangesOfKeys) {
  const auto seen = [](const Mask& mask, std::size_t shard) {
    return shards_with(mask).queries[shard].seen;
  };
  EXPECT_THAT(seen({}, 2), AreRanges(Ranges{{0, kTokens}}));
  EXPECT_THAT(seen(causal(), 2), AreRanges(Ranges{{0, 768}}));
  EXPECT_THAT(seen(window(100, 20), 2), AreRanges(Ranges{{412, 376}}));
  EXPECT_THAT(seen(window(100, 0, 130), 2),
              AreRanges(Ranges{{0, 130}, {412, 356}}));
  EXPECT_THAT(seen(window(100, 0, 130), 0), AreRanges(Ranges{{0, 256}}));
  EXPECT_THAT(seen(window(400, 0, 250) & causal() & window(600, 0), 3),
              AreRanges(Ranges{{168, 82}, {368, 656}}));
}

TEST(ShardsTest, QueriesInAChunkSeeTheirOwnKeys) {
  const Mask mask = window(100, 0, 130);
  ShardPlan one;
  one.queries = one.keys = {{{0, {0, kTokens}}, 0}};
  const Shards whole = shards_of(one, 1, spec_with(mask).mask, "test").value();
  const auto chunks = query_chunks(whole, 48, 1, "test").value();
  std::size_t seen = 0;
  for (const QueryChunk& chunk : chunks) {
    for (const PartRange& keys : chunk.shards.front().seen) {
      seen = std::max(seen, keys.count);
    }
  }
  EXPECT_EQ(seen, 240u);  // by queries 192 to 239
  // Keys between the first ones and a rank's window do not travel to it.
  const Shards shards = shards_with(mask);
  const auto of_keys = key_chunks(shards, 128, 4, "test").value();
  for (const KeyChunk& chunk : of_keys) {
    const std::size_t first = chunk.shards.front().tokens.first;
    const std::size_t needed_by = first < 256 ? 4 : first < 768 ? 2 : 1;
    EXPECT_LE(chunk.route.size(), needed_by) << first;
  }
}

TEST(ShardsTest, AChunkOfQueriesTakesNoMoreMemoryThanOneOfKeys) {
  EXPECT_EQ(queries_in_room_of(3072, 4096, 6208), 2016u);
  EXPECT_EQ(queries_in_room_of(3072, 4096, 4096), 3072u);
  EXPECT_EQ(queries_in_room_of(384, 10, 8), 384u);
  EXPECT_EQ(queries_in_room_of(128, 4, 14), 48u);  // a block in any case
  constexpr std::size_t kMost = ~std::size_t{0};
  EXPECT_EQ(queries_in_room_of(kMost, 2, 3), kMost / 3 * 2 / 48 * 48);
}

TEST(ShardsTest, OnlyShortRangesArriveFirst) {
  const auto first = [](const Mask& mask) {
    const auto chunks = key_chunks(shards_with(mask), 128, 4, "test").value();
    return arrive_first<KeyChunk>(chunks, 4);
  };
  EXPECT_TRUE(first(window(100, 0)));
  EXPECT_TRUE(first(window(100, 0, 100)));
  EXPECT_FALSE(first(window(600, 0)));
  EXPECT_FALSE(first(causal()));
  EXPECT_FALSE(first({}));
}

TEST(ShardsTest, TokensBeyondEveryNumberAreNoDivision) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  ShardPlan plan = four_pieces();
  plan.keys = {{{0, {0, kMost}}, 0}, {{0, {kMost, kTokens + 1}}, 1}};
  EXPECT_THAT(
      shards_of(plan, 4, spec_with({}).mask, "test"),
      HasError({.code = ErrorCode::invalid_argument, .argument = "plan.keys"}));
}

// With 2^60 sequences a loop over them would not end.
TEST(ShardsTest, ABatchWithoutTokensHasNoShards) {
  const AttentionSpec spec = spec_of({.B = std::size_t{1} << 60,
                                      .Hq = 1,
                                      .Hkv = 1,
                                      .Lq = 0,
                                      .Lkv = 0,
                                      .D = 1,
                                      .Dv = 1});
  const Shards shards = shards_of({}, 4, spec.mask, "test").value();
  EXPECT_TRUE(shards.queries.empty());
  EXPECT_TRUE(shards.keys.empty());
  EXPECT_NE(describe_call("float32", spec, shards, {}), "");
}

TEST(ShardsTest, NumbersOfAMaskAreInTheDescription) {
  const auto described = [](const Mask& mask) {
    const AttentionSpec spec = spec_with(mask);
    ShardPlan one;
    one.queries = one.keys = {{{0, {0, kTokens}}, 0}};
    return describe_call("float32", spec,
                         shards_of(one, 1, spec.mask, "test").value(), {});
  };
  EXPECT_EQ(described(window(100, 0, 7)), described(window(100, 0, 7)));
  EXPECT_NE(described(window(100, 0, 7)), described(window(100, 0, 8)));
  EXPECT_NE(described(window(100, 0, 7)), described(window(99, 0, 7)));
  EXPECT_NE(described(window(100, 0)), described(window(100, 1)));
}

}  // namespace
}  // namespace headwise::testing_support
