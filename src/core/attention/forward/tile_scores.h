// How well the queries of a tile fit keys, in the log2 domain: by dot products,
// or by additive scoring where the options have a score_weight.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "kernels/additive_tile.h"
#include "kernels/attention_tile.h"
#include "kernels/pair_tile.h"
#include "kernels/rows.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class TileScores {
 public:
  TileScores(const AttentionSpec& spec, Arena& arena);

  // What the queries are multiplied by when they are packed as float32.
  float query_factor() const;
  // q (queries, D) -> q_t (packed_key_size, lanes), as compute() takes them.
  void pack_queries(const kernels::NumberRows<const void>& q, std::size_t lanes,
                    float* q_t) const;
  // Takes the score_weight of a query head.
  void begin(std::size_t h);
  // scores (count, lanes) of the packed queries q_t and keys (count,
  // packed_key_size).
  void compute(const float* q_t, const float* keys, std::size_t count,
               std::size_t queries, std::size_t lanes, float* scores) const;

  // That of the head, row_size(D); null for dot products.
  const float* score_weight() const { return score_weight_; }

 private:
  const AttentionSpec& spec_;
  const kernels::AttentionTile& products_;
  const kernels::AdditiveTile& additive_;
  const kernels::PairTile* pairs_;  // null: no products of pairs
  float* score_weight_;
  float* widened_;  // (D, lanes), queries on their way to pairs
};

}  // namespace headwise::inline HEADWISE_ABI
