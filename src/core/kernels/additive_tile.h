// The inner loops of additive scoring over one tile, which replace the products
// of kernels/attention_tile.h and kernels/gradient_tile.h:
//
//   scores[k][n] = log2 e * chain over D of w[d] * tanh(q[n][d] + k[k][d])
//
// The layout of sums is the same as there: one query per lane for the scores,
// one feature per lane for the gradients. Each sum is one chain in index order,
// so that the width of a vector makes no difference (docs/arithmetic.md).
// Tangents are computed again wherever they are needed, not stored.
//
//   lanes    queries of the tile, rounded up to whole vectors
//   q_t      (D, lanes)           the queries, as they are
//   scores   (keys, lanes)        in the log2 domain
//   queries  (queries, row_size(D))  rows padded with zeros; the same for w,
//            the sums of gradients, and what is computed for one block
//
// Everything except keys is 64-byte aligned. Nothing is checked or allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// A block of keys against a block of queries. The p of the parts are the
// gradients of the scores; a query is not read for keys for which its `taken`
// bit is 0.
struct AdditiveBlock {
  const float* keys;  // (count, D), rows D apart
  std::size_t count;
  std::size_t D;
  const float* w;        // (row_size(D))
  const float* queries;  // (queries, row_size(D)), of all parts
  const QueryPart* parts;
  std::size_t parts_count;
};

// The sums to which a block is added, (rows, row_size(D)) each. Null: d_keys,
// or the other two, are not wanted.
struct AdditiveGradients {
  float* d_keys;
  float* d_queries;
  float* d_w;  // one row per query
};

struct AdditiveTile {
  void (*score)(const float* q_t, const float* keys, const float* w,
                std::size_t count, std::size_t D, std::size_t lanes,
                float* scores);
  // With t the tangent of query n and key k, and s = w * (1 - t^2):
  //   d_keys[k]    += chain over the queries of d_scores[k][n] * s
  //   d_queries[n] += chain over the keys of d_scores[k][n] * s
  //   d_w[n]       += chain over the keys of d_scores[k][n] * t
  void (*add_gradients)(const AdditiveBlock& block,
                        const AdditiveGradients& sums);
};

// The loops for the best instruction set of this processor, or the forced one.
const AdditiveTile& additive_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
