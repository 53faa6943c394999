// The inner loops of a row's statistics, over the tiles of attention_tile.h:
// queries in the lanes, so that every sum is one chain in each lane
// (docs/arithmetic.md).
//
// Everything is 64-byte aligned. Nothing is checked, nothing allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/version.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Sums over the keys of a block, or of all blocks so far; (lanes) each.
struct RowSums {
  float* entropy;    // of p * (s - max)
  float* distance;   // of p * |position - key|
  float* separator;  // of p at the separators
};

// The keys that a query fits best, the best first, the lowest key among equals:
// (count, kMaxQueryLanes).
struct TopKeys {
  std::size_t count;
  float* scores;       // -inf: there is none; +inf: the lane takes none
  std::int32_t* keys;  // -1: there is none

  // The scores that are to be beaten, (lanes).
  const float* least() const { return scores + (count - 1) * kMaxQueryLanes; }
};

// The sum and the largest p of so many keys, (lanes) each; `fold` is that of
// the sums.
struct Cell {
  float* sum;
  float* largest;
};

// Four chains for each of a group of four keys: what the rows i with
// i / 4 mod 4 = c have given to key k is at [c * 4 + k].
inline constexpr std::size_t kColumnChains = 4;
inline constexpr std::size_t kColumnKeys = 4;
inline constexpr std::size_t kColumnRows = 4;
constexpr std::size_t column_sums_size(std::size_t keys) {
  return (keys + kColumnKeys - 1) / kColumnKeys * kColumnKeys * kColumnChains;
}

// The sum of a key's chains.
inline float column_sum(const float* columns, std::size_t key) {
  const float* const chain = columns +
                             key / kColumnKeys * kColumnKeys * kColumnChains +
                             key % kColumnKeys;
  return (chain[0] + chain[2 * kColumnKeys]) +
         (chain[kColumnKeys] + chain[3 * kColumnKeys]);
}

struct StatisticsTile {
  // As AttentionTile::softmax, the same bits; on the way the block's entropy
  // and distance, where they have a place, and the keys that belong among the
  // top ones. position (lanes)
  // is that of each query, first_key the number of the block's first key.
  void (*softmax)(std::size_t count, std::size_t lanes, const float* position,
                  std::size_t first_key, float* scores, float* max, float* sum,
                  const RowSums& block, const TopKeys& top);
  // sum = chain of the p of `count` keys, in their order.
  void (*sum_keys)(const std::uint8_t* keys, std::size_t count,
                   std::size_t lanes, const float* p, float* sum);
  // The sums take the block in, before AttentionTile::fold.
  void (*fold)(std::size_t lanes, const Fold& fold, const RowSums& block,
               const RowSums& state);
  // sum and largest p of the keys [first, end) of the block.
  void (*cell)(std::size_t first, std::size_t end, std::size_t lanes,
               const float* p, const Cell& cell);
  // A cell takes its part of the next block in; fold.state is the cell's own
  // and is folded, too.
  void (*join_cell)(std::size_t lanes, const Fold& fold, const float* block,
                    float* largest);
  // weight = p * exp2(max - M) / sum.
  void (*weights)(std::size_t lanes, const float* p, const float* max,
                  const RowState& state, float* weight);
  // Adds p * exp2(max - M) / sum of the rows that count (bit n: lane n) to the
  // chains of `keys` keys. The tile's first row is a multiple of 4 from the
  // sequence's; `first_row` is its number. rows of p: whole groups of 4 keys,
  // what stands behind the last one's is not used.
  void (*add_columns)(const float* p, const float* max, const RowState& state,
                      std::size_t keys, std::size_t lanes,
                      std::size_t first_row, std::uint64_t rows,
                      float* columns);
};

// The loops of the best instruction set of this processor, or of the forced
// one.
const StatisticsTile& statistics_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
