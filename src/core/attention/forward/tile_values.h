// The values of a block weighed by a tile of queries, in the call's arithmetic.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "kernels/pair_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class TileValues {
 public:
  TileValues(const AttentionSpec& spec, Arena& arena);

  // The softmax of AttentionTile where p is used for nothing but weigh(), which
  // has to be told: p is then what is multiplied.
  void softmax(std::size_t keys, std::size_t lanes, float* p, float* max,
               float* sum) const {
    const auto softmax = pairs_ != nullptr ? pairs_->softmax : loops_.softmax;
    softmax(keys, lanes, p, max, sum);
  }
  // context = the state folded with p (keys, lanes) times the first `keys` of
  // `rows` packed values. `allowed` null: every value is read; else it has room
  // for one word more where their number is odd. `rounded`: p are of softmax().
  void weigh(const float* p, bool rounded, const float* values,
             std::size_t rows, kernels::MaskWord* allowed, std::size_t keys,
             std::size_t queries, std::size_t lanes, const kernels::Fold& fold,
             float* context) const;

  // Whether `keys` of `rows` values end within a pair, whose other value is not
  // to be read.
  bool cuts_pair(std::size_t rows, std::size_t keys) const {
    return pairs_ != nullptr && keys % 2 != 0 && keys < rows;
  }

 private:
  std::size_t Dv_;
  const kernels::AttentionTile& loops_;
  const kernels::PairTile* pairs_;  // null: no products of pairs
  float* p_pairs_;                  // (keys', lanes)
};

}  // namespace headwise::inline HEADWISE_ABI
