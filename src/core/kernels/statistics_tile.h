// The inner loops of the statistics of rows, over the tiles of
// attention_tile.h: one query per lane, so that every sum is one chain in each
// lane (docs/arithmetic.md).
//
// Everything is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/version.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Sums over the keys of a block, or over all blocks so far; (lanes) each.
struct RowSums {
  float* entropy;    // of p * (s - max)
  float* distance;   // of p * |position - key|
  float* separator;  // of p at the separators
};

// The keys with the highest scores for each query, highest first, the lowest
// key first among equals: (count, kMaxQueryLanes).
struct TopKeys {
  std::size_t count;
  float* scores;       // -inf: no key; +inf: the lane takes no keys
  std::int32_t* keys;  // -1: no key

  // The scores that a new key has to beat, (lanes).
  const float* least() const { return scores + (count - 1) * kMaxQueryLanes; }
};

// The sum and the largest p over the keys of a cell, (lanes) each; `fold` is
// that of the sums.
struct Cell {
  float* sum;
  float* largest;
};

// Four chains for each of a group of four keys: the sum over the rows i with
// i / 4 mod 4 = c for key k is at [c * 4 + k].
inline constexpr std::size_t kColumnChains = 4;
inline constexpr std::size_t kColumnKeys = 4;
inline constexpr std::size_t kColumnRows = 4;
constexpr std::size_t column_sums_size(std::size_t keys) {
  return (keys + kColumnKeys - 1) / kColumnKeys * kColumnKeys * kColumnChains;
}

// The sum over a key's chains.
inline float column_sum(const float* columns, std::size_t key) {
  const float* const chain = columns +
                             key / kColumnKeys * kColumnKeys * kColumnChains +
                             key % kColumnKeys;
  return (chain[0] + chain[2 * kColumnKeys]) +
         (chain[kColumnKeys] + chain[3 * kColumnKeys]);
}

struct StatisticsTile {
  // The same as AttentionTile::softmax, with the same bits. Also computes the
  // block's entropy and distance, unless they are null, and the top keys.
  // `position` (lanes) is that of each query, `first_key` the number of the
  // block's first key.
  void (*softmax)(std::size_t count, std::size_t lanes, const float* position,
                  std::size_t first_key, float* scores, float* max, float* sum,
                  const RowSums& block, const TopKeys& top);
  // sum = chain of the p of `count` keys, in this order.
  void (*sum_keys)(const std::uint8_t* keys, std::size_t count,
                   std::size_t lanes, const float* p, float* sum);
  // Folds the block into the sums, before AttentionTile::fold.
  void (*fold)(std::size_t lanes, const Fold& fold, const RowSums& block,
               const RowSums& state);
  // The sum and the largest p of the keys [first, end) of the block.
  void (*cell)(std::size_t first, std::size_t end, std::size_t lanes,
               const float* p, const Cell& cell);
  // Folds a cell's part of the next block into the cell; fold.state is the
  // cell's own and is also folded.
  void (*join_cell)(std::size_t lanes, const Fold& fold, const float* block,
                    float* largest);
  // weight = p * exp2(max - M) / sum.
  void (*weights)(std::size_t lanes, const float* p, const float* max,
                  const RowState& state, float* weight);
  // Adds p * exp2(max - M) / sum of the rows that count (bit n: lane n) to the
  // chains of `keys` keys. `first_row` is the number of the tile's first row in
  // the sequence, a multiple of 4. p has rows for whole groups of 4 keys; those
  // after the last key are not used.
  void (*add_columns)(const float* p, const float* max, const RowState& state,
                      std::size_t keys, std::size_t lanes,
                      std::size_t first_row, std::uint64_t rows,
                      float* columns);
};

// The loops for the best instruction set of this processor, or the forced one.
const StatisticsTile& statistics_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
