// The inner loops of attention over one tile: up to query_lanes queries of one
// head against one block of keys. Scores are transposed, one query per lane, so
// that every sum over keys or over the head size is one chain in each lane, in
// index order: the same bits for every vector width (docs/arithmetic.md).
//
//   lanes     queries of the tile, rounded up to whole vectors; the contents of
//             unused lanes do not matter
//   q_t       (D, lanes)     the queries, times scale * log2 e
//   scores    (keys, lanes)  in the log2 domain, then p = exp2(s - max)
//   max, sum  (lanes)        of a block of keys
//   context   (Dv8, lanes)   the weighted values; Dv8 is value_columns(Dv), and
//                            columns from Dv on do not matter
//
// tile_layout.h converts the caller's rows to these forms and back. Everything
// is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Keys per block; blocks are folded one by one, in order.
inline constexpr std::size_t kKeyBlock = 128;
// The largest number of queries in a tile, on any target.
inline constexpr std::size_t kMaxQueryLanes = 48;
// Columns of values that are contiguous in a packed block.
inline constexpr std::size_t kValuePanel = 8;
// Columns, rounded up to whole panels.
constexpr std::size_t value_columns(std::size_t Dv) {
  return (Dv + kValuePanel - 1) / kValuePanel * kValuePanel;
}
// Floats of a panel with this many rows. One more line keeps the panels of a
// whole block from being 4 KiB apart, where they would fall into the same cache
// sets.
constexpr std::size_t value_panel_size(std::size_t rows) {
  return rows * kValuePanel + 16;
}

// One word per key of a block: bit n of word k says whether query n may attend
// to key k.
using MaskWord = std::uint64_t;

// The state of each row so far: M, sum and the context (in the tile).
struct RowState {
  float* max;  // (lanes)
  float* sum;  // (lanes)
};

// A block's maximum and sum, and the state that it is folded into.
struct Fold {
  const float* block_max;  // (lanes)
  const float* block_sum;  // (lanes)
  RowState state;
  bool first;  // the state is empty in every row, its context uninitialised
};

struct AttentionTile {
  // Number of queries in a full tile, and in one vector.
  std::size_t query_lanes;
  std::size_t vector_lanes;

  // scores[k] = chain over D of q_t and keys (count, D), rows `key_stride`
  // apart.
  void (*score)(const float* q_t, const float* keys, std::size_t key_stride,
                std::size_t count, std::size_t D, std::size_t queries,
                float* scores);
  // scores become -inf where the mask's bit is 0.
  void (*mask)(const MaskWord* allowed, std::size_t count, std::size_t lanes,
               float* scores);
  // scores -> p, in place; the block's max and sum.
  void (*softmax)(std::size_t count, std::size_t lanes, float* scores,
                  float* max, float* sum);
  // context = the state folded with chain(p, values). `values` is packed
  // in panels (rows, 8), of which the first `count` rows are read. A block
  // whose sum is 0 changes nothing.
  void (*weigh)(const float* p, const float* values, std::size_t rows,
                std::size_t count, std::size_t Dv, std::size_t queries,
                const Fold& fold, float* context);
  // The same, but a value is read only where the mask's bit is 1.
  void (*weigh_allowed)(const float* p, const float* values, std::size_t rows,
                        const MaskWord* allowed, std::size_t count,
                        std::size_t Dv, std::size_t queries, const Fold& fold,
                        float* context);
  // The same for values that are rows, `stride` apart: Dv is a multiple of 8,
  // or 1.
  // `allowed` null: every value is read.
  void (*weigh_rows)(const float* p, const float* values, std::size_t stride,
                     const MaskWord* allowed, std::size_t count, std::size_t Dv,
                     std::size_t queries, const Fold& fold, float* context);
  // Folds the block into M and sum; after weigh.
  void (*fold)(std::size_t lanes, const Fold& fold);
};

// The loops for the best instruction set of this processor, or the forced one.
const AttentionTile& attention_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
