// Queries in tiles of whole vectors, as even as they go, so that the last one
// is not thin.
#pragma once

#include <algorithm>
#include <cstddef>

#include "attention/forward/query_tile.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {

class Tiling {
 public:
  // `count` queries from `first` on.
  Tiling(std::size_t first, std::size_t count)
      : first_(first), queries_(count) {
    const kernels::AttentionTile& loops = kernels::attention_tile();
    vector_ = loops.vector_lanes;
    vectors_ = (count + vector_ - 1) / vector_;
    const std::size_t most = loops.query_lanes / vector_;
    count_ = (vectors_ + most - 1) / most;
  }

  std::size_t count() const { return count_; }
  QueryRange range(std::size_t b, std::size_t h, std::size_t tile) const {
    return {b, h, first_ + begin(tile), begin(tile + 1) - begin(tile)};
  }

 private:
  std::size_t begin(std::size_t tile) const {
    return std::min(queries_, vectors_ * tile / count_ * vector_);
  }

  std::size_t first_;
  std::size_t queries_;
  std::size_t vector_;
  std::size_t vectors_;
  std::size_t count_;
};

}  // namespace headwise::inline HEADWISE_ABI
