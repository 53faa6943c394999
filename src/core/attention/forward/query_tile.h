// One tile of queries against the blocks of one head's keys, in order, folded
// into the rows' state.
#pragma once

#include <cstddef>
#include <span>

#include "attention/forward/added_blocks.h"
#include "attention/forward/block_scores.h"
#include "attention/forward/packed_head.h"
#include "attention/forward/query_range.h"
#include "attention/forward/share_tile.h"
#include "attention/forward/tile_scores.h"
#include "attention/forward/tile_statistics.h"
#include "attention/forward/tile_values.h"
#include "attention/number_rows.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

class QueryTile {
 public:
  QueryTile(const AttentionSpec& spec, const BlockScores* scores, Arena& arena);

  // From now on `shares` sees the scores, too. The call has all keys.
  void show_scores_to(ShareTile& shares) { shares_ = &shares; }

  void begin(const QueryRange& range, const CallTensors& tensors);
  // Then, unless the call has the first keys: goes on from a state.
  void resume(const CallTensors& tensors);
  // The tile takes blocks in their order; those in which it may attend to
  // nothing change nothing.
  void take(const PackedHead& head, std::size_t block);
  // `attn_weights` (range.count, Lkv): where the range's attention weights go;
  // no data: they are not wanted.
  void finish(const CallTensors& tensors, const PackedHead& head,
              const kernels::Rows<float>& attn_weights);
  // In place of finish(), unless the call has the last keys.
  void save(const CallTensors& tensors);
  // After finish(): adds the rows to the statistics over several rows.
  void add_to(const PackedHead& head, const RowsTogether& together);

 private:
  // The range's queries against the keys of a block that they may see.
  Tile tile_of(const PackedHead& head, std::size_t block) const;
  TileKind kind_of(const Tile& tile) const;
  // The scores of the block and its mask.
  void score_block(const PackedHead& head, std::size_t block, TileKind kind);
  // Folds the block's p, once its softmax is known.
  void weigh_block(const PackedHead& head, std::size_t block, TileKind kind,
                   const kernels::Fold& fold);
  // visit(block, tile, kind) for each block that was taken: its p before
  // dropout, its maximum and the mask words are then in the shared memory.
  template <class Visit>
  void for_each_block(const PackedHead& head, const Visit& visit);
  void drop(const Tile& tile, float* p) const;
  // The added keys and then the sink of the head join the rows' state, after
  // the last block.
  void take_added();
  void take_sink();
  // A block of one key, or of none with a sum of its own.
  void take_one(const float* p, const float* values, std::size_t keys,
                const float* max, const float* sum);
  // The scores of added key n: (lanes).
  void score_added(std::size_t n, float* scores) const;
  Tile added_tile(std::size_t n) const;
  void store_added_weights(bool dropped, const kernels::Rows<float>& weights);
  void store_added_scores(const kernels::Rows<float>& scores) const;
  // As the softmax gives them, or after dropout.
  void store_weights(const PackedHead& head, bool dropped,
                     const kernels::Rows<float>& weights);
  void store_scores(const PackedHead& head, const TensorView<float, 4>& scores);
  void store_lse(TensorView<float, 3> lse) const;
  void store_softmax_rows(TensorView<float, 4> rows) const;
  // The range's rows of a tensor (B, Lq, Hq, D).
  template <class Void>
  kernels::NumberRows<Void> rows_of_range(const TensorArg& tensor) const {
    return number_rows<Void>(tensor, place_.batch,
                             place_.first_query + range_.first, range_.h,
                             range_.count);
  }
  void finish_empty_rows(const TensorArg& value, const TensorArg& output) const;
  void finish_empty_weights(bool dropped,
                            const kernels::Rows<float>& weights) const;

  const AttentionSpec& spec_;
  const kernels::AttentionTile& loops_;
  const kernels::TileLayout& layout_;
  const BlockScores* scores_;
  TileScores tile_scores_;
  TileValues tile_values_;
  AddedBlocks added_;
  QueryRange range_{};
  SequencePlace place_{};
  std::size_t lanes_ = 0;
  // The range's queries see no key outside [begin, end).
  std::size_t visible_begin_ = 0;
  std::size_t visible_end_ = 0;
  bool first_ = true;                     // no block was taken yet
  std::span<TileStatistics> statistics_;  // one, where some are asked for
  ShareTile* shares_ = nullptr;
  float* q_t_;               // (packed_key_size, lanes)
  float* context_;           // (Dv8, lanes)
  kernels::RowState state_;  // (lanes) each
  bool only_weighs_p_;       // p is used for nothing but the context
};

}  // namespace headwise::inline HEADWISE_ABI
