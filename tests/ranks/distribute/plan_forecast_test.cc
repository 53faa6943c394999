// What a plan costs, on calls that are small enough to work out by hand.
#include "headwise/distribute/plan_forecast.h"

#include <gtest/gtest.h>

#include <limits>

namespace headwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ShardRequest context_request(std::size_t ranks, std::size_t tokens,
                             const KeyBand& band = {}) {
  return {.ranks = ranks,
          .parallel = Parallel::context,
          .sequences = {{tokens, tokens}},
          .heads = 4,
          .kv_heads = 2,
          .band = band};
}

// A multiply-add and a byte take a second each, so that times are counts.
ForecastOptions unit_options() {
  return {.head_dim = 8,
          .multiply_adds_per_second = 1,
          .bytes_per_second = 1,
          .latency_seconds = 0};
}

Forecast forecast_of(const ShardRequest& request,
                     const ForecastOptions& options) {
  return forecast(request, plan_shards(request).value(), options).value();
}

TEST(PlanForecastTest, OneRankHasTheWorkOfTheCallAndReceivesNothing) {
  ForecastOptions options = unit_options();
  const double pairs = 1000 * 1000 * 4;
  // Query, output: 4 heads; key, value: 2; float32.
  const double tensors = 4 * 2 * (4 + 2) * 1000 * 8;
  const Forecast forward = forecast_of(context_request(1, 1000), options);
  EXPECT_EQ(forward.seconds, 2 * 8 * pairs);
  EXPECT_EQ(forward.one_rank_seconds, forward.seconds);
  EXPECT_EQ(forward.efficiency, 1);
  EXPECT_EQ(forward.ranks[0].received, 0);
  EXPECT_EQ(forward.ranks[0].memory, tensors);
  EXPECT_EQ(forward.one_rank_memory, tensors);
  // By context, seven products; one process needs five.
  options.backward = true;
  const Forecast both = forecast_of(context_request(1, 1000), options);
  EXPECT_EQ(both.ranks[0].multiply_adds, 9 * 8 * pairs);
  EXPECT_EQ(both.one_rank_seconds, 7 * 8 * pairs);
  EXPECT_EQ(both.ranks[0].memory, 2 * tensors + 4 * 1000 * 8);
}

TEST(PlanForecastTest, EachRankReceivesTheKeysOfTheOthers) {
  const std::size_t tokens = 40 * kShardTokens;
  ForecastOptions options = unit_options();
  const double keys = 2.0 * 2 * 8 * 4 * static_cast<double>(tokens);
  for (const Transfer transfer : {Transfer::pipelined, Transfer::gathered}) {
    options.transfer = transfer;
    const Forecast full = forecast_of(context_request(4, tokens), options);
    for (const RankForecast& rank : full.ranks) {
      EXPECT_EQ(rank.received, keys * 3 / 4);
    }
  }
  // A window reaches the chunks next to a shard; only gathering takes more.
  const ShardRequest window =
      context_request(4, tokens, {.left = 10, .right = 0});
  EXPECT_EQ(forecast_of(window, options).ranks[0].received, keys * 3 / 4);
  const Forecast near = forecast_of(window, unit_options());
  EXPECT_EQ(near.ranks[0].received, 0);
  EXPECT_GT(near.ranks[1].received, 0);
  EXPECT_LT(near.ranks[3].received, keys / 4);
  // Whole sequences move nothing.
  ShardRequest batch = context_request(4, tokens);
  batch.sequences.assign(4, batch.sequences[0]);
  EXPECT_EQ(forecast_of(batch, unit_options()).ranks[2].received, 0);
}

TEST(PlanForecastTest, ARankHoldsItsTensorsItsSumsAndTwoChunks) {
  const double tokens = 40 * kShardTokens;  // of a rank
  const ShardRequest request = context_request(2, 80 * kShardTokens);
  ForecastOptions options = unit_options();
  const double tensors = 4 * 2 * (4 + 2) * 8 * tokens;
  const double sums = 4 * 4 * (8 + 2) * tokens;
  const double keys = 4 * 2 * 2 * 8;  // of a token
  EXPECT_EQ(forecast_of(request, options).chunk_tokens, 3072U);
  EXPECT_EQ(forecast_of(request, options).ranks[1].memory,
            tensors + sums + 2 * 3072 * keys);
  options.element_bytes = 2;
  EXPECT_EQ(forecast_of(request, options).ranks[1].memory,
            tensors / 2 + sums + 3072 * keys);
  // The most in the pass with float32 sums of queries. In the other one the
  // sums are as large, and chunks of queries no larger than those of keys.
  options.backward = true;
  EXPECT_EQ(forecast_of(request, options).ranks[1].memory,
            tensors + 4 * 8 * tokens + 4 * 4 * 8 * tokens + 3072 * keys);
  options = unit_options();
  options.transfer = Transfer::gathered;
  EXPECT_EQ(forecast_of(request, options).ranks[1].memory,
            tensors + tokens * keys);
}

TEST(PlanForecastTest, BackwardAlsoMovesQueries) {
  const std::size_t tokens = 20 * kShardTokens;
  ForecastOptions options = unit_options();
  options.backward = true;
  const Forecast both = forecast_of(context_request(2, tokens), options);
  const double half = static_cast<double>(tokens) / 2;
  const double keys = 2 * 2 * 8 * 4;
  const double queries = 4 * (3 * 8 * 4 + 8);
  for (const RankForecast& rank : both.ranks) {
    EXPECT_EQ(rank.received, half * (2 * keys + queries));
  }
}

// Two ranks, one chunk each, which both receive before they compute.
TEST(PlanForecastTest, FewChunksArriveFirst) {
  const ShardRequest request = context_request(2, 2 * kShardTokens);
  const double chunk = 2.0 * 2 * 8 * 4 * kShardTokens;
  const double work = 2.0 * 8 * 4 * kShardTokens * kShardTokens;
  ForecastOptions options = unit_options();
  for (const Transfer transfer : {Transfer::pipelined, Transfer::gathered}) {
    options.transfer = transfer;
    options.latency_seconds = 0;
    EXPECT_EQ(forecast_of(request, options).seconds, chunk + 2 * work);
    options.latency_seconds = 7;
    EXPECT_EQ(forecast_of(request, options).seconds, 7 + chunk + 2 * work);
  }
}

// Two ranks, three chunks each. Rank 1 waits for the first chunk, then both
// compute one while the next one is on its way.
TEST(PlanForecastTest, TheNextChunkArrivesWhileOneIsComputed) {
  const std::size_t tokens = 8 * kShardTokens;
  const ShardRequest request = context_request(2, 6 * tokens);
  const double chunk = 2.0 * 2 * 8 * 4 * static_cast<double>(tokens);
  const double work = 2.0 * 8 * 4 * 3 * static_cast<double>(tokens) *
                      static_cast<double>(tokens);
  ForecastOptions options = unit_options();
  EXPECT_EQ(forecast_of(request, options).seconds, chunk + 6 * work);
  options.latency_seconds = 7;
  EXPECT_EQ(forecast_of(request, options).seconds, 7 + chunk + 6 * work);
  // A slow link: rank 0 waits for the last three chunks, which leave after the
  // first three.
  options.latency_seconds = 0;
  options.multiply_adds_per_second = 1e12;
  EXPECT_NEAR(forecast_of(request, options).seconds, 6 * chunk + work / 1e12,
              1e-6);
}

// Under a short window a rank needs the last keys of the one before it, but
// does not wait for its work.
TEST(PlanForecastTest, UnderAShortWindowRanksComputeAtTheSameTime) {
  ForecastOptions options = unit_options();
  options.bytes_per_second = 1e30;
  EXPECT_GT(forecast_of(context_request(16, 16 * 100 * kShardTokens,
                                        {.left = 1000, .right = 0}),
                        options)
                .efficiency,
            0.98);
}

// Eight copies leave the owner; the first rank that has one makes the others.
TEST(PlanForecastTest, RanksPassChunksOn) {
  ShardRequest request = context_request(11, 11 * kShardTokens);
  request.sequences[0].keys = kShardTokens;
  const double chunk = 2.0 * 2 * 8 * 4 * kShardTokens;
  ForecastOptions options = unit_options();
  options.multiply_adds_per_second = 1e30;
  EXPECT_NEAR(forecast_of(request, options).seconds, 8 * chunk, 1e-6);
  options.latency_seconds = 100 * chunk;  // twice to the last two
  EXPECT_NEAR(forecast_of(request, options).seconds, 203 * chunk, 1e-6);
}

// Where ranks wait for each other at each chunk, zig-zag takes (2 + 1) / 2 of
// the mean on many ranks; more pieces make the rest smaller.
TEST(PlanForecastTest, MorePiecesWaitLess) {
  ShardRequest request =
      context_request(16, 2048 * kShardTokens, KeyBand::causal());
  ForecastOptions options = unit_options();
  options.bytes_per_second = 1e30;
  const double zig_zag = forecast_of(request, options).efficiency;
  EXPECT_NEAR(zig_zag, 2.0 / 3, 0.05);
  // The owner of all keys could send earlier, but ranks hold two chunks.
  ShardPlan one_owner = plan_shards(request).value();
  for (OwnedPiece& keys : one_owner.keys) {
    keys.rank = 0;
  }
  EXPECT_NEAR(forecast(request, one_owner, options)->efficiency, 2.0 / 3, 0.05);
  request.pieces_per_rank = 8;
  EXPECT_GT(forecast_of(request, options).efficiency, zig_zag + 0.1);
  options.transfer = Transfer::gathered;
  EXPECT_GT(forecast_of(request, options).efficiency, 0.98);
}

TEST(PlanForecastTest, ByHeadsTokensAreExchangedForHeads) {
  ShardRequest request = context_request(2, 1000);
  request.parallel = Parallel::heads;
  ForecastOptions options = unit_options();
  const Forecast forward = forecast_of(request, options);
  // Half of the tokens of 2 query heads and 1 key head, then half of the
  // outputs of the other heads.
  const double received = 4.0 * 8 * 500 * (2 + 2 + 2);
  const double work = 2.0 * 8 * 2 * 1000 * 1000;
  for (const RankForecast& rank : forward.ranks) {
    EXPECT_EQ(rank.received, received);
    EXPECT_EQ(rank.multiply_adds, work);
  }
  EXPECT_EQ(forward.seconds, received + work);
  options.backward = true;
  const Forecast both = forecast_of(request, options);
  EXPECT_EQ(both.ranks[0].multiply_adds, work * 7 / 2);
  // Query, output and its gradient, key and value; then three gradients. Rows
  // go both ways.
  EXPECT_EQ(both.ranks[0].received,
            received + 4.0 * 8 * 500 * (6 + 2 + 2 + 2) + 8.0 * 500 * (2 + 2));
}

TEST(PlanForecastTest, IdleRanksCostEfficiency) {
  ForecastOptions options = unit_options();
  options.bytes_per_second = 1e30;
  const Forecast idle = forecast_of(context_request(4, 300), options);
  EXPECT_EQ(idle.efficiency, 0.25);
  EXPECT_EQ(idle.imbalance, 3);
  EXPECT_EQ(idle.ranks[3].memory, 0);
  EXPECT_EQ(forecast_of(context_request(4, 0), options).efficiency, 1);
}

TEST(PlanForecastTest, SaysWhatIsWrongWithItsOptions) {
  const ShardRequest request = context_request(1, 10);
  const ShardPlan plan = plan_shards(request).value();
  const auto message = [&](const ForecastOptions& options) {
    return forecast(request, plan, options).error().message();
  };
  EXPECT_EQ(message({.head_dim = 0}),
            "forecast: head_dim is 0, expected a number from 1 to 1048576");
  EXPECT_EQ(message({.bytes_per_second = 0}),
            "forecast: bytes_per_second is 0, expected a positive number");
  EXPECT_EQ(message({.multiply_adds_per_second = kInfinity}),
            "forecast: multiply_adds_per_second is inf, expected a positive "
            "number");
  EXPECT_EQ(message({.latency_seconds = -1}),
            "forecast: latency_seconds is -1, expected a number, 0 or greater");
}

}  // namespace
}  // namespace headwise
