// The inner loops of additive scoring over one tile, in place of the products
// of kernels/attention_tile.h and kernels/gradient_tile.h:
//
//   scores[k][n] = log2 e * chain over D of w[d] * tanh(query[n][d] +
//   key[k][d])
//
// Sums lie as there: one query a lane for the scores, one feature a lane for
// the gradients, each sum one chain in index order, so that the width of a
// vector cannot show (docs/arithmetic.md). A tangent is computed where it is
// needed and kept nowhere.
//
//   lanes    queries of the tile, rounded up to whole vectors
//   q_t      (D, lanes)           the queries, as they are
//   scores   (keys, lanes)        in the log2 domain
//   queries  (queries, row_size(D))  rows padded with zeros; so w, the sums of
//            gradients and what is computed for a block alone
//
// Everything is 64-byte aligned but for keys. Nothing is checked, nothing
// allocated.
#pragma once

#include <cstddef>

#include "headwise/version.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// A block of keys against a block of queries. The parts' p are the gradients of
// the scores; a query that is not taken for a key is not read there.
struct AdditiveBlock {
  const float* keys;  // (count, D), D apart
  std::size_t count;
  std::size_t D;
  const float* w;        // (row_size(D))
  const float* queries;  // (queries, row_size(D)), of all parts
  const QueryPart* parts;
  std::size_t parts_count;
};

// The sums that gain what a block gives, (rows, row_size(D)) each.
struct AdditiveGradients {
  float* d_keys;
  float* d_queries;
  float* d_w;  // one row a query
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

// The loops of the best instruction set of this processor, or of the forced
// one.
const AdditiveTile& additive_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
