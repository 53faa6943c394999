// Who has which tokens of a call, and which keys its queries may see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/shape.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// Consecutive tokens of one sequence, on one rank.
struct Shard {
  std::size_t rank = 0;
  std::size_t sequence = 0;
  PartRange tokens{};
  std::size_t row = 0;  // where they begin in the rank's tensors
};

// Queries, and the keys of their sequence that one of them may see: ranges in
// order with gaps between them.
struct QueryShard : Shard {
  std::vector<PartRange> seen{};
};

// Of all ranks, in the order of sequences and tokens.
struct Shards {
  std::vector<QueryShard> queries;
  std::vector<Shard> keys;
  BoundMask mask;
};

// Errors: invalid_argument, about plan.queries or plan.keys, unless each token
// of the call belongs to one of `ranks` ranks.
Result<Shards> shards_of(const ShardPlan& plan, std::size_t ranks,
                         const BoundMask& mask, std::string_view operation);

// The keys that some of these queries may see.
std::vector<PartRange> seen_keys(const BoundMask& mask, const Shard& queries);

// The queries of each sequence as one shard: of a call whose tokens every rank
// has.
Shards undivided(const BoundMask& mask);

// The number of sequences to look at: none if all are empty, for such a batch
// may have more of them than memory.
std::size_t sequences_with_tokens(const AttentionShape& shape);

// The number of rows that a rank has.
template <class SomeShards>
std::size_t rows_of_rank(const SomeShards& shards, std::size_t rank) {
  std::size_t rows = 0;
  for (const Shard& shard : shards) {
    rows += shard.rank == rank ? shard.tokens.count : 0;
  }
  return rows;
}

// Whether a query of `queries` may see one of the keys.
bool sees(const QueryShard& queries, const Shard& keys);

// Those of one sequence.
template <class SomeShard>
std::span<const SomeShard> of_sequence(std::span<const SomeShard> shards,
                                       std::size_t sequence) {
  const auto of = [](const Shard& shard) { return shard.sequence; };
  return {std::ranges::lower_bound(shards, sequence, {}, of),
          std::ranges::upper_bound(shards, sequence, {}, of)};
}

}  // namespace headwise::inline HEADWISE_ABI
