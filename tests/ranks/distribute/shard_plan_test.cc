// What every plan promises, on random requests: each token and each head
// belongs to one rank, pieces are in order and end at shards, work is balanced.
#include "headwise/distribute/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "distribute/rank_work.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::size_t any(std::size_t low, std::size_t high) {
  return *rc::gen::resize(rc::kNominalSize,
                          rc::gen::inRange<std::size_t>(low, high + 1));
}

KeyBand any_band() {
  const auto side = [] { return static_cast<std::int64_t>(any(0, 5000)); };
  switch (any(0, 3)) {
    case 0:
      return {};
    case 1:
      return KeyBand::causal();
    case 2:
      return {.left = side(), .right = 0, .keep_first = side() / 100};
    default:
      return {.left = side(), .right = side()};
  }
}

// Lengths of some tokens, of some blocks and around them.
std::size_t any_length() {
  return any(0, 3) == 0 ? any(0, 500)
                        : kShardTokens * any(0, 60) + any(0, 2) * any(0, 383);
}

ShardRequest any_request() {
  ShardRequest request = {.ranks = any(1, 20), .parallel = Parallel::context};
  request.band = any_band();
  request.pieces_per_rank = any(0, 2) == 0 ? any(1, 5) : 0;
  const bool same_tokens = any(0, 1) == 0;
  for (std::size_t s = any(0, 6); s > 0; --s) {
    const std::size_t queries = any_length();
    request.sequences.push_back({queries, same_tokens ? queries : any_length(),
                                 static_cast<std::int64_t>(any(0, 100))});
  }
  return request;
}

// Each token of each sequence in one piece, in order, ending at shards.
template <class TokensOf>
void check_pieces(const std::vector<OwnedPiece>& pieces,
                  const ShardRequest& request, const TokensOf& tokens_of) {
  std::size_t n = 0;
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    const std::size_t tokens = tokens_of(request.sequences[s]);
    for (std::size_t first = 0; first < tokens; ++n) {
      RC_ASSERT(n < pieces.size());
      const auto& [piece, rank] = pieces[n];
      RC_ASSERT(piece.sequence == s);
      RC_ASSERT(piece.range.first == first);
      RC_ASSERT(piece.range.tokens > 0U);
      RC_ASSERT(rank < request.ranks);
      first = piece.range.end();
      RC_ASSERT(first == tokens || first % kShardTokens == 0U);
    }
  }
  RC_ASSERT(n == pieces.size());
}

std::size_t queries_of(const PlannedSequence& sequence) {
  return sequence.queries;
}
std::size_t keys_of(const PlannedSequence& sequence) { return sequence.keys; }

std::vector<TokenPiece> pieces_of_rank(const std::vector<OwnedPiece>& pieces,
                                       std::size_t rank) {
  std::vector<TokenPiece> own;
  for (const OwnedPiece& one : pieces) {
    if (one.rank == rank) {
      own.push_back(one.piece);
    }
  }
  return own;
}

RC_GTEST_PROP(ShardPlanTest, EachTokenBelongsToOneRank, ()) {
  const ShardRequest request = any_request();
  const ShardPlan plan = plan_shards(request).value();
  check_pieces(plan.queries, request, queries_of);
  check_pieces(plan.keys, request, keys_of);
  RC_ASSERT(plan.ranks.size() == request.ranks);
  for (std::size_t r = 0; r < request.ranks; ++r) {
    RC_ASSERT(plan.ranks[r].queries == pieces_of_rank(plan.queries, r));
    RC_ASSERT(plan.ranks[r].keys == pieces_of_rank(plan.keys, r));
  }
  RC_ASSERT(plan == plan_shards(request).value());
}

RC_GTEST_PROP(ShardPlanTest, RanksAreInTheOrderOfTheirFirstToken, ()) {
  const ShardPlan plan = plan_shards(any_request()).value();
  std::size_t seen = 0;
  for (const OwnedPiece& one : plan.queries) {
    RC_ASSERT(one.rank <= seen);
    seen = std::max(seen, one.rank + 1);
  }
}

RC_GTEST_PROP(ShardPlanTest, QueriesAndKeysOfTheSameTokensGoTogether, ()) {
  ShardRequest request = any_request();
  for (PlannedSequence& sequence : request.sequences) {
    sequence.keys = sequence.queries;
  }
  const ShardPlan plan = plan_shards(request).value();
  RC_ASSERT(plan.queries == plan.keys);
}

std::size_t tokens_of(const std::vector<TokenPiece>& pieces) {
  return std::transform_reduce(
      pieces.begin(), pieces.end(), std::size_t{0}, std::plus<>(),
      [](const TokenPiece& piece) { return piece.range.tokens; });
}

std::size_t most_tokens(const ShardPlan& plan) {
  std::size_t most = 0;
  for (const RankShare& share : plan.ranks) {
    most = std::max(most, tokens_of(share.queries));
  }
  return most;
}

double imbalance(const ShardRequest& request) {
  return imbalance_of(work_of_ranks(request, plan_shards(request).value()));
}

ShardRequest causal_request(std::size_t ranks, std::size_t tokens) {
  return {.ranks = ranks,
          .parallel = Parallel::context,
          .sequences = {{tokens, tokens}},
          .band = KeyBand::causal()};
}

// What a rank may have: 2% more than the mean, or the mean in whole shards.
std::size_t most_allowed(std::size_t ranks, std::size_t tokens,
                         double more = 0.02) {
  const std::size_t shards =
      (tokens + ranks * kShardTokens - 1) / (ranks * kShardTokens);
  return std::max(
      shards * kShardTokens,
      static_cast<std::size_t>((1 + more) * static_cast<double>(tokens) /
                               static_cast<double>(ranks)));
}

// From 16 shards per rank on.
RC_GTEST_PROP(ShardPlanTest, ZigZagBalancesWorkAndTokens, ()) {
  const std::size_t ranks = any(1, 40);
  const std::size_t tokens =
      ranks * kShardTokens * any(16, any(16, 100)) + any(0, 40'000);
  const ShardRequest request = causal_request(ranks, tokens);
  RC_ASSERT(imbalance(request) <= 0.05);
  RC_ASSERT(most_tokens(plan_shards(request).value()) <=
            most_allowed(ranks, tokens));
}

// Of any length, cut into any number of pieces. Under a window pieces of much
// work are handed out late, when they do not fit as well.
RC_GTEST_PROP(ShardPlanTest, NoRankHasManyMoreTokensOfASequenceThanOthers, ()) {
  ShardRequest request = causal_request(any(1, 40), any_length() * any(1, 40));
  const bool window = any(0, 2) == 0;
  if (window) {
    request.band.left = static_cast<std::int64_t>(any(0, 5000));
  } else if (any(0, 1) == 0) {
    request.band = {};
  }
  request.pieces_per_rank = any(0, kMostPiecesPerRank);
  RC_ASSERT(most_tokens(plan_shards(request).value()) <=
            most_allowed(request.ranks, request.sequences[0].queries) +
                (window ? kShardTokens : 0));
}

// Equal work, but one rank would have 14,142 tokens and the other one 10,000.
TEST(ShardPlanTest, CutsSequencesWhereOneRankWouldHaveManyMoreTokens) {
  ShardRequest request = causal_request(2, 10'000);
  request.sequences.assign(3, {7'071, 7'071});
  request.sequences[0] = {10'000, 10'000};
  EXPECT_LE(most_tokens(plan_shards(request).value()), most_allowed(2, 24'142));
  EXPECT_LE(imbalance(request), 0.05);
}

// The short one has 5% of the work of a rank, but 83% of its tokens.
TEST(ShardPlanTest, CutsSequencesOfLittleWorkAndManyTokens) {
  const auto plan =
      plan_shards({.ranks = 16,
                   .parallel = Parallel::context,
                   .sequences = {{100'000, 100'000}, {5'500, 5'500}}});
  EXPECT_LE(most_tokens(*plan), most_allowed(16, 105'500));
}

// Whether each sequence is in one piece.
bool is_whole(const ShardRequest& request, const ShardPlan& plan) {
  return std::ranges::all_of(plan.queries, [&](const OwnedPiece& one) {
    const auto& [s, range] = one.piece;
    return range == request.sequences[s].all_queries();
  });
}

// Of sequences of which some are far longer than others. A rank may have one
// block more, and whole sequences 5%.
RC_GTEST_PROP(ShardPlanTest, NoRankHasManyMoreTokensOfABatchThanOthers, ()) {
  ShardRequest request = {.ranks = any(1, 16), .parallel = Parallel::context};
  request.band = any_band();
  std::size_t queries = 0;
  for (std::size_t s = any(1, 40); s > 0; --s) {
    const std::size_t tokens = any_length() * (any(0, 4) == 0 ? any(1, 40) : 1);
    request.sequences.push_back({tokens, tokens});
    queries += tokens;
  }
  const ShardPlan plan = plan_shards(request).value();
  const std::size_t most = most_allowed(request.ranks, queries) + kShardTokens;
  const std::size_t most_whole = most_allowed(request.ranks, queries, 0.05);
  RC_ASSERT(most_tokens(plan) <=
            (is_whole(request, plan) ? std::max(most, most_whole) : most));
}

// Keys of sequences that one rank has are where its queries are.
RC_GTEST_PROP(ShardPlanTest, NoRankHasManyMoreKeysThanOthers, ()) {
  ShardRequest request = {.ranks = any(1, 16), .parallel = Parallel::context};
  request.band = any(0, 1) == 0 ? KeyBand() : KeyBand::causal();
  std::size_t keys = 0;
  for (std::size_t s = any(1, 20); s > 0; --s) {
    request.sequences.push_back({any_length() * any(1, 10), any_length()});
    keys += request.sequences.back().keys;
  }
  const ShardPlan plan = plan_shards(request).value();
  const std::size_t most = most_allowed(request.ranks, keys) + kShardTokens;
  for (const RankShare& share : plan.ranks) {
    std::size_t of_whole = 0;
    for (const TokenPiece& piece : share.queries) {
      const PlannedSequence& sequence = request.sequences[piece.sequence];
      of_whole += piece.range == sequence.all_queries() ? sequence.keys : 0;
    }
    RC_ASSERT(tokens_of(share.keys) <= std::max(most, of_whole));
  }
}

// The short one has less than 5% of the tokens of a rank; both ranks would have
// room for the half of it.
TEST(ShardPlanTest, CutsAShortSequenceThatFitsNoRank) {
  ShardRequest request = causal_request(2, 400'000);
  request.sequences.push_back({10'000, 10'000});
  EXPECT_LE(most_tokens(plan_shards(request).value()),
            most_allowed(2, 410'000));
}

// The keys of the second sequence are with its queries, on one rank.
TEST(ShardPlanTest, CountsKeysOfWholeSequencesAsTokensOfTheirRank) {
  const auto plan =
      plan_shards({.ranks = 2,
                   .parallel = Parallel::context,
                   .sequences = {{100'000, 20'000}, {1'000, 10'000}}});
  for (const RankShare& share : plan->ranks) {
    EXPECT_LE(tokens_of(share.keys), most_allowed(2, 30'000));
  }
}

RC_GTEST_PROP(ShardPlanTest, BatchesAreBalanced, ()) {
  ShardRequest request = {.ranks = any(1, 12), .parallel = Parallel::context};
  request.band = any(0, 1) == 0 ? KeyBand() : KeyBand::causal();
  // At least one sequence is long; the others have any length.
  request.sequences.assign(any(0, 8), {});
  for (PlannedSequence& sequence : request.sequences) {
    sequence.queries = any_length();
    sequence.keys = sequence.queries;
  }
  const std::size_t longest = request.ranks * 32 * kShardTokens;
  request.sequences.push_back({longest, longest});
  RC_ASSERT(imbalance(request) <= 0.125);
}

// A last block of its own for one token would leave the last piece, the most
// expensive one, almost a block short.
TEST(ShardPlanTest, AShortRestJoinsTheLastBlock) {
  EXPECT_LE(imbalance(causal_request(2, 32 * kShardTokens + 1)), 0.05);
}

TEST(ShardPlanTest, CutsZigZagFromBothEnds) {
  const auto plan = plan_shards(causal_request(2, 8 * kShardTokens));
  EXPECT_THAT(plan->ranks[0].queries,
              ElementsAre(TokenPiece{0, {0, 768}}, TokenPiece{0, {2304, 768}}));
  EXPECT_THAT(plan->ranks[1].queries, ElementsAre(TokenPiece{0, {768, 1536}}));
  EXPECT_EQ(imbalance(causal_request(2, 8 * kShardTokens)), 0);
}

// 100 blocks for three ranks; the last one has 284 tokens.
TEST(ShardPlanTest, CutsEvenWorkIntoOneShardPerRank) {
  for (const KeyBand& band : {KeyBand{}, KeyBand{.left = 64, .right = 64}}) {
    const auto plan = plan_shards({.ranks = 3,
                                   .parallel = Parallel::context,
                                   .sequences = {{38'300, 38'300}},
                                   .band = band});
    EXPECT_THAT(plan->ranks[0].queries,
                ElementsAre(TokenPiece{0, {0, 34 * kShardTokens}}));
    EXPECT_THAT(plan->ranks[1].queries,
                ElementsAre(TokenPiece{0, {13'056, 33 * kShardTokens}}));
    EXPECT_THAT(plan->ranks[2].queries,
                ElementsAre(TokenPiece{0, {25'728, 12'572}}));
  }
}

TEST(ShardPlanTest, ShortSequencesLeaveRanksWithoutTokens) {
  const auto plan = plan_shards(causal_request(5, 700));
  EXPECT_THAT(plan->ranks[0].queries, ElementsAre(TokenPiece{0, {0, 384}}));
  EXPECT_THAT(plan->ranks[1].queries, ElementsAre(TokenPiece{0, {384, 316}}));
  for (std::size_t r = 2; r < 5; ++r) {
    EXPECT_THAT(plan->ranks[r].queries, IsEmpty());
  }
  EXPECT_THAT(plan_shards(causal_request(3, 0))->queries, IsEmpty());
  EXPECT_THAT(plan_shards({.ranks = 3, .parallel = Parallel::context})->queries,
              IsEmpty());
}

TEST(ShardPlanTest, DealsOutWholeSequencesWhereThatBalances) {
  ShardRequest request = causal_request(4, 10'000);
  request.sequences.assign(8, request.sequences[0]);
  const ShardPlan plan = plan_shards(request).value();
  for (const RankShare& share : plan.ranks) {
    EXPECT_EQ(share.queries.size(), 2U);
    EXPECT_EQ(tokens_of(share.queries), 20'000U);
  }
  request.sequences.pop_back();
  EXPECT_LT(imbalance(request), 0.05);
}

TEST(ShardPlanTest, KeysGoWithTheQueriesOfAWholeSequence) {
  const auto plan = plan_shards({.ranks = 2,
                                 .parallel = Parallel::context,
                                 .sequences = {{13, 4000}, {10, 5200}}});
  EXPECT_THAT(plan->ranks[0].keys, ElementsAre(TokenPiece{0, {0, 4000}}));
  EXPECT_THAT(plan->ranks[1].keys, ElementsAre(TokenPiece{1, {0, 5200}}));
}

// Whole groups, in order, each once; ranks without heads are the last.
RC_GTEST_PROP(ShardPlanTest, EachGroupOfHeadsBelongsToOneRank, ()) {
  std::vector<std::size_t> sizes(any(1, 24));
  for (std::size_t& size : sizes) {
    size = any(1, 6);
  }
  ShardRequest request = {.ranks = any(1, 30), .parallel = Parallel::heads};
  request.sequences = {{any_length(), any_length()}, {0, 7}};
  request.kv_heads = sizes.size();
  request.heads = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  request.kv_groups = HeadGroups::create(sizes).value();
  const ShardPlan plan = plan_shards(request).value();
  std::size_t head = 0;
  std::size_t group = 0;
  std::size_t most = 0;
  for (const RankShare& share : plan.ranks) {
    RC_ASSERT(share.heads.first == head);
    RC_ASSERT(share.kv_heads.first == group);
    for (; group < share.kv_heads.first + share.kv_heads.count; ++group) {
      head += sizes[group];
    }
    RC_ASSERT(share.heads.count == head - share.heads.first);
    // No rank is without heads while others have several groups.
    RC_ASSERT(share.kv_heads.count > 0U || group == sizes.size());
    RC_ASSERT(share.kv_heads.count <= 1U || request.ranks < sizes.size());
    most = std::max(most, share.heads.count);
    RC_ASSERT(share.queries.empty() ==
              (share.heads.count == 0 || request.sequences[0].queries == 0));
  }
  RC_ASSERT(group == sizes.size());
  // No cut into consecutive groups has a smaller largest part: a part that
  // were to stay below `most` would need one rank more.
  std::size_t ranks = 0;
  std::size_t part = most;
  for (const std::size_t size : sizes) {
    ranks += part + size >= most ? 1 : 0;
    part = part + size >= most ? size : part + size;
  }
  RC_ASSERT(ranks > request.ranks || most == *std::ranges::max_element(sizes));
}

TEST(ShardPlanTest, ChoosesHeadsWhereTheySuffice) {
  ShardRequest request = {.ranks = 4,
                          .sequences = {{10'000, 10'000}},
                          .heads = 32,
                          .kv_heads = 8,
                          .band = KeyBand::causal()};
  EXPECT_EQ(plan_shards(request)->parallel, Parallel::heads);
  request.ranks = 16;  // more than groups
  EXPECT_EQ(plan_shards(request)->parallel, Parallel::context);
  request.ranks = 5;  // 2 groups on some, 1 on others
  EXPECT_EQ(plan_shards(request)->parallel, Parallel::context);
  request.sequences = {{100, 100}};
  EXPECT_EQ(plan_shards(request)->parallel, Parallel::heads);
}

std::string message(const ShardRequest& request) {
  const auto plan = plan_shards(request);
  return plan ? "" : plan.error().message();
}

TEST(ShardPlanTest, SaysWhatIsWrongWithARequest) {
  EXPECT_EQ(message({.ranks = 0}),
            "plan_shards: ranks is 0, expected a number from 1 to 1024");
  EXPECT_EQ(message({.ranks = 1025}),
            "plan_shards: ranks is 1025, expected a number from 1 to 1024");
  EXPECT_EQ(message({.heads = 7, .kv_heads = 2}),
            "plan_shards: heads is 7, expected a multiple of kv_heads = 2");
  EXPECT_EQ(message({.kv_heads = 0}),
            "plan_shards: kv_heads is 0, expected a number from 1 to 1048576");
  EXPECT_EQ(message({.pieces_per_rank = 17}),
            "plan_shards: pieces_per_rank is 17, expected a number from 0 to "
            "16");
  EXPECT_EQ(message({.band = {.left = -1}}),
            "plan_shards: band.left is -1, expected a number from 0 to "
            "281474976710656");
  const std::size_t long_one = std::size_t{1} << 31;
  EXPECT_EQ(message({.sequences = {{long_one, long_one}, {1, 1}}}),
            "plan_shards: sequences[1] has 1 queries and 1 keys, expected at "
            "most 4611686018427387904 pairs of a query and a key in all "
            "sequences");
  EXPECT_EQ(message({.sequences = {{std::size_t{1} << 61, 0}}}),
            "plan_shards: sequences[0].queries is 2305843009213693952, "
            "expected a number from 0 to 281474976710656");
}

}  // namespace
}  // namespace headwise
