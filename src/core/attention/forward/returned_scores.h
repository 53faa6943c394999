// The scores that a call returns, in natural units, of one tile of queries
// against all keys of its sequence: also those that the tile may not attend to,
// which no block of the softmax holds. They are computed once more for it.
#pragma once

#include <cstddef>

#include "attention/forward/packed_head.h"
#include "attention/forward/query_range.h"
#include "attention/forward/tile_scores.h"
#include "headwise/attention/spec.h"
#include "headwise/base/tensor_view.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// What a worker computes them in; nothing where none are asked for. Those of
// the stage `softmax` are written as attention weights.
class ReturnedScores {
 public:
  ReturnedScores(const AttentionSpec& spec, Arena& arena);

  // q_t (D, lanes): the packed queries of the range.
  void store(const TileScores& scores, const QueryRange& range,
             const float* q_t, std::size_t lanes, const PackedHead& head,
             const TensorView<float, 4>& to) const;

 private:
  // scores_ = those of the tile, in the log2 domain.
  void compute(const TileScores& scores, const Tile& tile, const float* q_t,
               std::size_t lanes, const PackedHead& head) const;
  void mask(const Tile& tile, std::size_t lanes) const;

  const AttentionSpec& spec_;
  float* keys_;    // (kKeyBlock, D)
  float* scores_;  // (kKeyBlock, lanes)
  kernels::MaskWord* allowed_;
};

}  // namespace headwise::inline HEADWISE_ABI
