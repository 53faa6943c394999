// How well the queries of a tile fit keys, in the log2 domain: by dot products,
// or by additive scoring where the options have a score_weight.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "kernels/additive_tile.h"
#include "kernels/attention_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class TileScores {
 public:
  TileScores(const AttentionSpec& spec, Arena& arena);

  // What the queries are multiplied by when they are packed.
  float query_factor() const;
  // Takes the score_weight of a query head.
  void begin(std::size_t h);
  // scores (count, lanes) of q_t (D, lanes), the packed queries, and keys
  // (count, D).
  void compute(const float* q_t, const float* keys, std::size_t count,
               std::size_t queries, std::size_t lanes, float* scores) const;

  // That of the head, row_size(D); null for dot products.
  const float* score_weight() const { return score_weight_; }

 private:
  const AttentionSpec& spec_;
  const kernels::AttentionTile& products_;
  const kernels::AdditiveTile& additive_;
  float* score_weight_;
};

}  // namespace headwise::inline HEADWISE_ABI
