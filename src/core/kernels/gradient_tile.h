// The inner loops of attention's backward pass over one tile: a block of
// queries of one head against one block of keys. Scores and their gradients are
// transposed as in kernels/attention_tile.h, (keys, lanes), one query per lane;
// sums over keys or over the head size are one chain in each lane. Gradients of
// keys and values have one feature per lane, and their sums over the queries of
// a block are also one chain, in query order: the same bits for every vector
// width (docs/arithmetic.md).
//
//   lanes      queries of a part of the tile, rounded up to whole vectors
//   p          (keys, lanes)  scores in the log2 domain, then attention weights
//   d_scores   (keys, lanes)  the weights' gradient, then the scores'
//   d_query    (D8, lanes)    D8 is value_columns(D)
//   rows       (queries, row_size(D))  of query or d_output, contiguous
//   d_key      (keys, row_size(D))     the same for d_value
//
// Everything is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Queries per block of the sums over queries; blocks are added in order.
inline constexpr std::size_t kQueryBlock = 48;
// On most targets a tile has fewer queries: at most this many tiles form a
// block.
inline constexpr std::size_t kMaxParts = 16;

// Floats in a row of `columns` features that begins on a cache line.
constexpr std::size_t row_size(std::size_t columns) {
  constexpr std::size_t kLine = 16;
  return (columns + kLine - 1) / kLine * kLine;
}

// What the forward pass saved for the rows of a tile, (lanes) each.
struct SavedRows {
  const float* max;         // M
  const float* reciprocal;  // 1 / sum, 0 for a row without a key
  const float* delta;       // sum of d_output * output
};

// Dropout of the attention weights: bit n of kept[k] says whether query n's
// weight for key k is kept.
struct DroppedTile {
  const MaskWord* kept;  // null: all
  float factor;          // 1 / (1 - p)
};

// Some queries of a block: those in one tile.
struct QueryPart {
  const float* p;  // (keys, lanes), the weights of the rows
  std::size_t lanes;
  std::size_t queries;
  const MaskWord* taken;  // (keys), or null: bit n of word k says whether query
                          // n is read for key k
};

struct GradientTile {
  // delta = chain over the columns of d_output_t * output_t, both (Dv, lanes).
  void (*delta)(const float* d_output_t, const float* output_t, std::size_t Dv,
                std::size_t lanes, float* delta);
  // p: scores -> exp2(p - M) / sum, d_scores: d_weights -> p * (d_weights -
  // delta); both +0 where the mask's bit is 0 (null: no mask). First dropout is
  // applied to d_weights and `given` (null: nothing) is added; at the end
  // dropout is applied to p.
  void (*softmax_gradient)(const SavedRows& rows, const MaskWord* allowed,
                           const DroppedTile& dropped, const float* given,
                           std::size_t keys, std::size_t lanes, float* p,
                           float* d_scores);
  // sum += chain over the keys of a * b, for each lane; for a single block, sum
  // is +0 before. Used for the gradients of returned attention weights.
  void (*add_chain)(const float* a, const float* b, std::size_t keys,
                    std::size_t lanes, float* sum);
  // a = a * b, element by element.
  void (*multiply)(const float* b, std::size_t keys, std::size_t lanes,
                   float* a);
  // d_query += chain over the keys of d_scores * keys, which are packed in
  // panels (rows, 8) of which the first `count` rows are read; if `allowed` is
  // given, only keys whose bit is 1.
  void (*add_keys)(const float* d_scores, const float* keys, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t D8,
                   std::size_t queries, float* d_query);
  // sums[k] += chain over the queries of all parts of p[k] * rows.
  void (*add_queries)(const QueryPart* parts, std::size_t count,
                      std::size_t keys, const float* rows, std::size_t size,
                      float* sums);
};

// The loops for the best instruction set of this processor, or the forced one.
const GradientTile& gradient_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
