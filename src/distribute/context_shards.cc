#include "distribute/context_shards.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

// Up to this share of a rank's mean work (or tokens), an imbalance is accepted
// and a sequence is not cut.
constexpr double kSmallShare = 0.05;
// A rank that has pieces of sequences has at most this share of the mean tokens
// more, so that no rank needs much more memory than others.
constexpr double kMoreTokens = 0.02;
// The share of a piece of one of many sequences, times the pieces per rank.
constexpr double kLeastPiece = 1.0 / 16;
// Work varies along the sequences if their halves differ by more than this.
constexpr double kUneven = 0.1;
// A shorter rest joins the block before it: a nearly empty block in place of a
// whole one at the expensive end of a causal sequence would unbalance a rank.
constexpr std::size_t kShortRest = kShardTokens / 3;
// In a piece, one more changes its work by little.
constexpr std::size_t kManyBlocks = 32;

struct WeighedPiece {
  TokenPiece piece;
  std::uint64_t work;
};

// The order of pieces.
template <class Piece>
std::pair<std::size_t, std::size_t> place_of(const Piece& one) {
  return {one.piece.sequence, one.piece.range.first};
}

std::size_t tokens_of(std::span<const WeighedPiece> pieces) {
  return std::transform_reduce(
      pieces.begin(), pieces.end(), std::size_t{0}, std::plus<>(),
      [](const WeighedPiece& one) { return one.piece.range.tokens; });
}

// The tokens that a rank may have, in whole blocks: the mean, rounded up, or
// `more` of it above the mean.
std::size_t room_of_rank(std::size_t tokens, std::size_t ranks, double more) {
  const auto mean =
      static_cast<double>(tokens) / static_cast<double>(ranks * kShardTokens);
  const double blocks =
      std::max(std::ceil(mean), std::floor((1 + more) * mean));
  return static_cast<std::size_t>(blocks) * kShardTokens;
}

// Hands out pieces, each to the rank with the least work of those that have
// room for it.
class Dealer {
 public:
  Dealer(std::size_t ranks, std::size_t room) : tokens_(ranks), room_(room) {
    for (std::size_t r = 0; r < ranks; ++r) {
      by_work_.emplace(0, r);
    }
  }

  std::size_t deal(const WeighedPiece& one) {
    const std::size_t more = one.piece.range.tokens;
    auto taker = std::ranges::find_if(by_work_, [&](const auto& rank) {
      return tokens_[rank.second] + more <= room_;
    });
    if (taker == by_work_.end()) {
      taker = std::ranges::min_element(by_work_, {}, [&](const auto& rank) {
        return std::pair(tokens_[rank.second], rank.second);
      });
    }
    auto [work, rank] = *taker;
    by_work_.erase(taker);
    by_work_.emplace(work + one.work, rank);
    tokens_[rank] += more;
    return rank;
  }

 private:
  std::set<std::pair<std::uint64_t, std::size_t>> by_work_;
  std::vector<std::size_t> tokens_;  // of each rank
  std::size_t room_;
};

// Pieces in the order of their tokens, each with its rank.
std::vector<OwnedPiece> deal(std::vector<WeighedPiece> pieces,
                             std::size_t ranks, double more_tokens) {
  std::ranges::sort(pieces, [](const auto& a, const auto& b) {
    return a.work != b.work ? a.work > b.work : place_of(a) < place_of(b);
  });
  Dealer dealer(ranks, room_of_rank(tokens_of(pieces), ranks, more_tokens));
  std::vector<OwnedPiece> owned;
  owned.reserve(pieces.size());
  for (const WeighedPiece& one : pieces) {
    owned.push_back({one.piece, dealer.deal(one)});
  }
  std::ranges::sort(owned, {}, place_of<OwnedPiece>);
  return owned;
}

// Neighbours of one rank become one piece.
std::vector<OwnedPiece> joined(std::span<const OwnedPiece> pieces) {
  std::vector<OwnedPiece> wider;
  for (const OwnedPiece& one : pieces) {
    if (!wider.empty() && wider.back().rank == one.rank &&
        wider.back().piece.sequence == one.piece.sequence) {
      wider.back().piece.range.tokens += one.piece.range.tokens;
    } else {
      wider.push_back(one);
    }
  }
  return wider;
}

// Blocks that are left by equal pieces make the first pieces longer where one
// block hardly counts or each rank has one piece. Else each of them is a piece
// of its own, before the equal ones. Fewer blocks than pieces: a block each.
std::vector<TokenRange> cut(std::size_t tokens, std::size_t pieces,
                            std::size_t per_rank) {
  const std::size_t whole = tokens / kShardTokens;
  const std::size_t rest = tokens % kShardTokens;
  const bool joins = rest < kShortRest && whole >= pieces;
  const std::size_t blocks = whole + (rest == 0 || joins ? 0 : 1);
  const std::size_t in_piece = blocks / pieces;
  const std::size_t more = blocks % pieces;
  const bool longer =
      in_piece >= kManyBlocks || (in_piece > 0 && per_rank == 1);
  const std::size_t small = longer ? in_piece + 1 : 1;
  std::vector<TokenRange> ranges;
  for (std::size_t block = 0; block < blocks;) {
    const std::size_t first = block * kShardTokens;
    block += ranges.size() < more ? small : in_piece;
    const std::size_t end = block == blocks ? tokens : block * kShardTokens;
    ranges.push_back({first, end - first});
  }
  return ranges;
}

std::uint64_t work_of(const ShardRequest& request, const TokenPiece& queries) {
  const PlannedSequence& sequence = request.sequences[queries.sequence];
  return request.band.pairs(queries.range, sequence.all_keys(),
                            sequence.query_start);
}

// Every sequence that has queries, in one piece.
std::vector<WeighedPiece> whole_sequences(const ShardRequest& request) {
  std::vector<WeighedPiece> pieces;
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    const TokenPiece piece = {s, request.sequences[s].all_queries()};
    if (piece.range.tokens != 0) {
      pieces.push_back({piece, work_of(request, piece)});
    }
  }
  return pieces;
}

// The work of a rank if all have the same.
double mean_work(std::span<const WeighedPiece> pieces, std::size_t ranks) {
  double all = 0;
  for (const WeighedPiece& one : pieces) {
    all += static_cast<double>(one.work);
  }
  return all / static_cast<double>(ranks);
}

// The equal pieces per rank that sequences are cut into.
std::size_t pieces_per_rank(const ShardRequest& request,
                            std::span<const WeighedPiece> sequences) {
  if (request.pieces_per_rank != 0) {
    return request.pieces_per_rank;
  }
  double all = 0;
  double difference = 0;
  for (const auto& [piece, work] : sequences) {
    const std::uint64_t half =
        work_of(request, {piece.sequence, {0, piece.range.tokens / 2}});
    all += static_cast<double>(work);
    difference +=
        std::abs(static_cast<double>(work) - 2 * static_cast<double>(half));
  }
  return difference > kUneven * all ? 2 : 1;
}

// The sequences, those with much work or many tokens cut: for each rank, but no
// finer than kLeastPiece.
std::vector<WeighedPiece> cut_sequences(
    const ShardRequest& request, std::span<const WeighedPiece> sequences) {
  const std::size_t per_rank = pieces_per_rank(request, sequences);
  const double work = mean_work(sequences, request.ranks);
  const double tokens = static_cast<double>(tokens_of(sequences)) /
                        static_cast<double>(request.ranks);
  std::vector<WeighedPiece> pieces;
  for (const WeighedPiece& one : sequences) {
    const double shares =
        std::max(static_cast<double>(one.piece.range.tokens) / tokens,
                 static_cast<double>(one.work) / work);
    if (!(shares > kSmallShare)) {
      pieces.push_back(one);
      continue;
    }
    const auto useful =
        static_cast<std::size_t>(std::ceil(shares / kLeastPiece));
    const std::size_t parts = std::min(request.ranks, useful) * per_rank;
    for (const TokenRange& range :
         cut(one.piece.range.tokens, parts, per_rank)) {
      const TokenPiece piece = {one.piece.sequence, range};
      pieces.push_back({piece, work_of(request, piece)});
    }
  }
  return pieces;
}

// Ranks are numbered by their first piece; those without any come last.
void number_ranks(std::span<OwnedPiece> pieces, std::size_t ranks) {
  std::vector<std::size_t> numbers(ranks, ranks);
  std::size_t next = 0;
  for (OwnedPiece& one : pieces) {
    std::size_t& number = numbers[one.rank];
    if (number == ranks) {
      number = next++;
    }
    one.rank = number;
  }
}

// Whether work and tokens are balanced.
bool balanced(const ShardRequest& request, std::span<const OwnedPiece> pieces) {
  std::vector<double> work(request.ranks);
  std::vector<std::size_t> tokens(request.ranks);
  for (const OwnedPiece& one : pieces) {
    work[one.rank] += static_cast<double>(work_of(request, one.piece));
    tokens[one.rank] += one.piece.range.tokens;
  }
  const std::size_t all =
      std::accumulate(tokens.begin(), tokens.end(), std::size_t{0});
  return imbalance_of(work) <= kSmallShare &&
         std::ranges::max(tokens) <=
             room_of_rank(all, request.ranks, kSmallShare);
}

std::vector<OwnedPiece> query_shards(const ShardRequest& request) {
  const std::vector<WeighedPiece> sequences = whole_sequences(request);
  std::vector<OwnedPiece> pieces = deal(sequences, request.ranks, kSmallShare);
  if (request.pieces_per_rank != 0 || !balanced(request, pieces)) {
    pieces = joined(
        deal(cut_sequences(request, sequences), request.ranks, kMoreTokens));
  }
  number_ranks(pieces, request.ranks);
  return pieces;
}

// Keys go with the queries of a sequence that one rank has; the others are cut
// evenly.
std::vector<OwnedPiece> key_shards(const ShardRequest& request,
                                   std::span<const OwnedPiece> queries) {
  std::vector<OwnedPiece> pieces;
  std::vector<WeighedPiece> divided;
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    const PlannedSequence& sequence = request.sequences[s];
    const auto first = std::ranges::lower_bound(
        queries, s, {},
        [](const OwnedPiece& one) { return one.piece.sequence; });
    if (sequence.keys == 0) {
      continue;
    }
    if (first != queries.end() &&
        first->piece == TokenPiece{s, sequence.all_queries()}) {
      pieces.push_back({{s, sequence.all_keys()}, first->rank});
      continue;
    }
    for (const TokenRange& range : cut(sequence.keys, request.ranks, 1)) {
      divided.push_back({{s, range}, range.tokens});
    }
  }
  const std::vector<OwnedPiece> dealt =
      joined(deal(std::move(divided), request.ranks, kMoreTokens));
  pieces.insert(pieces.end(), dealt.begin(), dealt.end());
  std::ranges::sort(pieces, {}, place_of<OwnedPiece>);
  return pieces;
}

}  // namespace

ContextShards context_shards(const ShardRequest& request) {
  ContextShards shards = {.queries = query_shards(request), .keys = {}};
  const bool same_tokens = std::ranges::all_of(
      request.sequences, [](const PlannedSequence& sequence) {
        return sequence.queries == sequence.keys;
      });
  shards.keys =
      same_tokens ? shards.queries : key_shards(request, shards.queries);
  return shards;
}

}  // namespace headwise::inline HEADWISE_ABI
