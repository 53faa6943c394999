// What each key adds to the rows of a tile, as shares: attention weights times
// a number per key, divided by their sum. They are the softmax of the tile's
// own scores plus the logarithms of those numbers, so a tile that attends shows
// its scores and nothing is computed twice.
#pragma once

#include <cstddef>

#include "attention/forward/query_range.h"
#include "attention/forward/tile_statistics.h"
#include "headwise/attention/spec.h"
#include "headwise/base/tensor_view.h"
#include "kernels/attention_tile.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// A call's numbers per key, and where its shares go. In a ragged batch all
// tensors have its layout.
struct KeyShares {
  const AttentionSpec& spec;               // with the statistics of the shares
  TensorView<const float, 3> logarithms;   // (B, Hq, Lkv), keys contiguous
  TensorView<const float, 3> reciprocals;  // the same
  TensorView<float, 3> sums;  // (B, Lq, Hq): of weights times numbers
  StatisticsViews statistics;
  bool alone;  // nothing else is wanted of the attention weights
};

class ShareTile {
 public:
  ShareTile(const KeyShares* of, Arena& arena);

  void begin(const QueryRange& range, std::size_t lanes);
  // Whether nothing else needs the scores; take() then overwrites them.
  bool alone() const { return of_.alone; }
  // The scores of some keys, (keys, lanes), masked. `allowed` null: all are.
  void take(const Tile& tile, float* scores, const kernels::MaskWord* allowed);
  // After the last key: M and sum of the attention weights.
  void end_keys(const kernels::RowState& state);
  // M and sum with the added keys and the sink.
  void finish(const kernels::RowState& state);

 private:
  const KeyShares& of_;
  const kernels::AttentionTile& loops_;
  TileStatistics statistics_;
  QueryRange range_{};
  SequencePlace place_{};
  std::size_t lanes_ = 0;
  bool first_ = true;          // no block was taken yet
  float* p_;                   // (kKeyBlock, lanes)
  float* max_;                 // (lanes)
  float* sum_;                 // (lanes)
  float* mean_reciprocal_;     // (lanes): by the shares, times their sum
  kernels::RowState state_;    // of the shares
  kernels::RowState weights_;  // of the attention weights of the keys
};

}  // namespace headwise::inline HEADWISE_ABI
