// Which tokens and which heads of a call of attention belong to which rank.
//
// A plan is plain data. It depends on the request alone, so every rank computes
// the same plan and none has to be sent.
//
//   parallel   a rank computes                      every pair is computed by
//   context    all heads of some tokens             the rank of its query
//   heads      all tokens of some groups of heads   the rank of its heads
//
// By context, sequences are cut into pieces of a multiple of 384 tokens, so
// that blocks of 128 keys and of 48 queries (docs/arithmetic.md) both end
// there; the last piece of a sequence ends with the sequence. The pieces with
// the most work are handed out first, each to the rank that has the least work
// so far of those whose tokens, and so whose memory, stay within 2% above the
// mean or the next whole block. So
//
//   - where every token has the same work, rank r has the r-th of P shards;
//   - where work grows along the sequence, as with a causal mask, a rank has
//     two pieces, one from each end (zig-zag): pieces r and 2P - 1 - r of 2P;
//   - whole sequences of a batch are dealt out where that balances work and
//     tokens within 5%; then no rank needs the keys of another.
//
// If the blocks of 384 tokens do not divide evenly, the first pieces get one
// block more. Where a rank has several pieces of fewer than 32 blocks, the
// remaining blocks, at the start of the sequence, are dealt out one by one
// instead.
//
// By heads, a rank has consecutive heads of keys and values with all the query
// heads that read them; the largest number of query heads of a rank is as small
// as it can be.
//
// A sequence of fewer than P blocks, or fewer key heads than ranks, leaves
// ranks without work. Ranks are numbered in the order of their first token or
// head.
//
// Example: who has what of a causal call on 10,000 tokens.
//   const auto plan = plan_shards({.ranks = 4,
//                                  .parallel = Parallel::context,
//                                  .sequences = {{10'000, 10'000}},
//                                  .heads = 32,
//                                  .kv_heads = 8,
//                                  .band = KeyBand::causal()});
//   for (const TokenPiece& piece : plan->ranks[rank].queries) {
//     take(piece);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/head_groups.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The keys that a query sees, as far as a plan of the work needs to know: a
// band around its position p = i + query_start, the rule of causal() and
// window() in steps/mask.h.
//
//   a query sees key j when  (p - left <= j or j < keep_first) and
//                            j <= p + right
//
// Example: how many pairs of a query and a key causal attention has on the
// first 1,000 tokens.
//   KeyBand::causal().pairs({0, 1000}, {0, 1000});  // 500,500

// Consecutive tokens of a sequence.
struct TokenRange {
  std::size_t first = 0;
  std::size_t tokens = 0;

  std::size_t end() const { return first + tokens; }
  bool operator==(const TokenRange&) const = default;
};

struct KeyBand {
  // The most tokens of a sequence, keys of a side and distance of query 0 from
  // key 0.
  static constexpr std::int64_t kMost = std::int64_t{1} << 48;

  // Keys before and after the position; no value: all keys on that side.
  std::optional<std::int64_t> left{};
  std::optional<std::int64_t> right{};
  std::int64_t keep_first = 0;

  static KeyBand causal() { return {.right = 0}; }

  // Errors: out_of_range for a number below 0 or above kMost; `operation` is
  // the function that the message begins with.
  HEADWISE_HIDDEN Status check(std::string_view operation) const;

  // The number of pairs (i, j) in which query i sees key j. For a band that
  // check() accepts, ranges that end at kMost or before and have at most 2^63
  // pairs in all, and |query_start| <= kMost.
  HEADWISE_HIDDEN std::uint64_t pairs(const TokenRange& queries,
                                      const TokenRange& keys,
                                      std::int64_t query_start = 0) const;
};

// The tokens of a piece are a multiple of this, unless it ends its sequence.
inline constexpr std::size_t kShardTokens = 384;
inline constexpr std::size_t kMostRanks = 1024;
inline constexpr std::size_t kMostPiecesPerRank = 16;
// Of a query and a key, in all sequences.
inline constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 62;

enum class Parallel : std::uint8_t {
  context,
  heads,
  // By heads where each rank gets some and the work is balanced at least as
  // well as by context; else by context. A plan is never automatic.
  automatic,
};

struct PlannedSequence {
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::int64_t query_start = 0;  // the key position of query 0

  TokenRange all_queries() const { return {0, queries}; }
  TokenRange all_keys() const { return {0, keys}; }
};

struct ShardRequest {
  std::size_t ranks = 1;
  Parallel parallel = Parallel::automatic;
  std::vector<PlannedSequence> sequences{};
  std::size_t heads = 1;     // of queries
  std::size_t kv_heads = 1;  // of keys and values
  HeadGroups kv_groups{};
  // The mask, or the band that comes closest to it: it affects balance only.
  // Default: every query sees every key.
  KeyBand band{};
  // By context, a sequence that is cut is cut into this number of equal pieces
  // for each rank. More pieces spread the work of a rank over the sequence, so
  // that ranks that receive keys together wait less for each other. 0: two
  // where work varies along the sequences, else one.
  std::size_t pieces_per_rank = 0;
};

// Consecutive tokens of one sequence.
struct TokenPiece {
  std::size_t sequence = 0;
  TokenRange range{};

  bool operator==(const TokenPiece&) const = default;
};

struct HeadRange {
  std::size_t first = 0;
  std::size_t count = 0;

  bool operator==(const HeadRange&) const = default;
};

// What a rank has. Pieces are in the order of their sequences and tokens, and
// adjacent pieces are merged. The rank computes the output of its queries and
// heads; its keys are those that it sends to others.
struct RankShare {
  std::vector<TokenPiece> queries{};
  std::vector<TokenPiece> keys{};  // the same where each sequence has as many
  HeadRange heads{};               // of queries
  HeadRange kv_heads{};

  bool operator==(const RankShare&) const = default;
};

struct OwnedPiece {
  TokenPiece piece{};
  std::size_t rank = 0;

  bool operator==(const OwnedPiece&) const = default;
};

struct ShardPlan {
  Parallel parallel = Parallel::context;
  std::vector<RankShare> ranks{};
  // By context, all pieces of all ranks, in the order of sequences and tokens.
  // By heads, empty: a rank with heads has all tokens.
  std::vector<OwnedPiece> queries{};
  std::vector<OwnedPiece> keys{};

  bool operator==(const ShardPlan&) const = default;
};

// Errors: out_of_range for a number of ranks, pieces, tokens or pairs of query
// and key outside its bounds (at most kMostRanks, kMostPiecesPerRank,
// KeyBand::kMost, kMostPairs); invalid_argument for heads that are not a
// multiple of kv_heads, or groups that do not fit them; out_of_memory.
Result<ShardPlan> plan_shards(const ShardRequest& request);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
