#include "distribute/context_shards.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "distribute/rank_work.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Up to this share of a rank's mean work (or tokens), an imbalance is accepted
// and a sequence is not cut.
constexpr double kSmallShare = 0.05;
// A rank that has pieces of sequences has at most this share of the mean tokens
// more, and a block, so that no rank needs much more memory than others.
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
std::pair<std::size_t, std::size_t> place_of_piece(const Piece& one) {
  return {one.piece.sequence, one.piece.range.first};
}

std::size_t tokens_in_pieces(std::span<const WeighedPiece> pieces) {
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

// Its work in proportion.
WeighedPiece first_blocks(const WeighedPiece& one, std::size_t blocks) {
  WeighedPiece part = one;
  part.piece.range.tokens = blocks * kShardTokens;
  part.work =
      static_cast<std::uint64_t>(static_cast<double>(one.work) *
                                 static_cast<double>(part.piece.range.tokens) /
                                 static_cast<double>(one.piece.range.tokens));
  return part;
}

// Hands out pieces, each to the rank with the least work of those that have
// room for it.
class Dealer {
 public:
  // The tokens, and so the work, that each rank has from the start.
  Dealer(std::vector<std::size_t> tokens, std::size_t room)
      : tokens_(std::move(tokens)), room_(room) {
    for (std::size_t r = 0; r < tokens_.size(); ++r) {
      by_work_.emplace(tokens_[r], r);
    }
  }

  // A rank takes the piece.
  std::size_t deal(const WeighedPiece& one) {
    const auto taker = with_room_for(one.piece.range.tokens);
    return take(taker == by_work_.end() ? with_fewest_tokens() : taker, one);
  }

  // The same, but where no rank has room, the one with the fewest tokens takes
  // the blocks that fit, at least one; a piece that exceeds its room by less
  // than a block is not worth a cut. `one` keeps the rest, which may be empty.
  OwnedPiece deal_part(WeighedPiece& one) {
    WeighedPiece part = one;
    auto taker = with_room_for(one.piece.range.tokens);
    if (taker == by_work_.end()) {
      taker = with_fewest_tokens();
      const std::size_t room = room_ - std::min(room_, tokens_[taker->second]);
      if (one.piece.range.tokens > room + kShardTokens) {
        part = first_blocks(one, std::max<std::size_t>(room / kShardTokens, 1));
      }
    }
    one.piece.range.first += part.piece.range.tokens;
    one.piece.range.tokens -= part.piece.range.tokens;
    one.work -= part.work;
    return {part.piece, take(taker, part)};
  }

 private:
  using ByWork = std::pair<std::uint64_t, std::size_t>;  // work and rank
  using Rank = std::set<ByWork>::const_iterator;

  Rank with_room_for(std::size_t tokens) const {
    return std::ranges::find_if(by_work_, [&](const ByWork& rank) {
      return tokens_[rank.second] + tokens <= room_;
    });
  }

  Rank with_fewest_tokens() const {
    return std::ranges::min_element(by_work_, {}, [&](const ByWork& rank) {
      return std::pair(tokens_[rank.second], rank.second);
    });
  }

  std::size_t take(Rank taker, const WeighedPiece& one) {
    const auto [work, rank] = *taker;
    by_work_.erase(taker);
    by_work_.emplace(work + one.work, rank);
    tokens_[rank] += one.piece.range.tokens;
    return rank;
  }

  std::set<ByWork> by_work_;
  std::vector<std::size_t> tokens_;  // of each rank
  std::size_t room_;
};

// Those with the most work come first.
void sort_by_work(std::vector<WeighedPiece>& pieces) {
  std::ranges::sort(pieces, [](const auto& a, const auto& b) {
    return a.work != b.work ? a.work > b.work
                            : place_of_piece(a) < place_of_piece(b);
  });
}

// Pieces in the order of their tokens, each with its rank.
std::vector<OwnedPiece> deal_whole(std::vector<WeighedPiece> pieces,
                                   std::size_t ranks) {
  sort_by_work(pieces);
  Dealer dealer(std::vector<std::size_t>(ranks),
                room_of_rank(tokens_in_pieces(pieces), ranks, kSmallShare));
  std::vector<OwnedPiece> owned;
  owned.reserve(pieces.size());
  for (const WeighedPiece& one : pieces) {
    owned.push_back({one.piece, dealer.deal(one)});
  }
  std::ranges::sort(owned, {}, place_of_piece<OwnedPiece>);
  return owned;
}

// The same, with pieces that are cut where they fit no rank.
std::vector<OwnedPiece> deal_parts(std::vector<WeighedPiece> pieces,
                                   Dealer dealer) {
  sort_by_work(pieces);
  std::vector<OwnedPiece> owned;
  for (WeighedPiece& one : pieces) {
    while (one.piece.range.tokens != 0) {
      owned.push_back(dealer.deal_part(one));
    }
  }
  std::ranges::sort(owned, {}, place_of_piece<OwnedPiece>);
  return owned;
}

// Neighbours of one rank become one piece.
std::vector<OwnedPiece> joined_pieces(std::span<const OwnedPiece> pieces) {
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
std::vector<TokenRange> cut_tokens(std::size_t tokens, std::size_t pieces,
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

std::uint64_t work_of_piece(const ShardRequest& request,
                            const TokenPiece& queries) {
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
      pieces.push_back({piece, work_of_piece(request, piece)});
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
        work_of_piece(request, {piece.sequence, {0, piece.range.tokens / 2}});
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
  const double tokens = static_cast<double>(tokens_in_pieces(sequences)) /
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
         cut_tokens(one.piece.range.tokens, parts, per_rank)) {
      const TokenPiece piece = {one.piece.sequence, range};
      pieces.push_back({piece, work_of_piece(request, piece)});
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
    work[one.rank] += static_cast<double>(work_of_piece(request, one.piece));
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
  std::vector<OwnedPiece> pieces = deal_whole(sequences, request.ranks);
  if (request.pieces_per_rank != 0 || !balanced(request, pieces)) {
    const std::size_t room =
        room_of_rank(tokens_in_pieces(sequences), request.ranks, kMoreTokens);
    pieces = joined_pieces(
        deal_parts(cut_sequences(request, sequences),
                   {std::vector<std::size_t>(request.ranks), room}));
  }
  number_ranks(pieces, request.ranks);
  return pieces;
}

// Keys go with the queries of a sequence that one rank has; the others are cut
// evenly, for ranks that have room beside such keys.
std::vector<OwnedPiece> key_shards(const ShardRequest& request,
                                   std::span<const OwnedPiece> queries) {
  std::vector<OwnedPiece> pieces;
  std::vector<std::size_t> of_whole(request.ranks);
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
      of_whole[first->rank] += sequence.keys;
      continue;
    }
    for (const TokenRange& range :
         cut_tokens(sequence.keys, request.ranks, 1)) {
      divided.push_back({{s, range}, range.tokens});
    }
  }
  const std::size_t keys = std::transform_reduce(
      request.sequences.begin(), request.sequences.end(), std::size_t{0},
      std::plus<>(), [](const PlannedSequence& one) { return one.keys; });
  const std::vector<OwnedPiece> dealt = joined_pieces(deal_parts(
      std::move(divided),
      {std::move(of_whole), room_of_rank(keys, request.ranks, kMoreTokens)}));
  pieces.insert(pieces.end(), dealt.begin(), dealt.end());
  std::ranges::sort(pieces, {}, place_of_piece<OwnedPiece>);
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
