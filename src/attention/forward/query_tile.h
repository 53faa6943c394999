// One tile of queries against the blocks of one head's keys, in order, folded
// into the rows' state.
#pragma once

#include <cstddef>
#include <span>

#include "attention/call_views.h"
#include "attention/forward/added_blocks.h"
#include "attention/forward/packed_head.h"
#include "attention/forward/query_range.h"
#include "attention/forward/returned_scores.h"
#include "attention/forward/tile_scores.h"
#include "attention/forward/tile_statistics.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// What a worker's tiles share: room for the scores of a block, or of all
// blocks where the attention weights are made of them in the end.
class BlockScores {
 public:
  // Up to this number of keys the p of all blocks are kept for the attention
  // weights; beyond, they are computed again from the same scores.
  static constexpr std::size_t kKeptKeys = 1024;
  // The same for the sums of columns, which write nothing of that size.
  static constexpr std::size_t kKeptKeysOfColumns = 8192;

  BlockScores(const AttentionSpec& spec, Arena& arena);

  // Whether the p of every block are kept; a tile then must be finished before
  // the next one begins.
  static bool kept(const AttentionSpec& spec);

  float* p(std::size_t block) const { return p_ + block * block_stride_; }
  float* max(std::size_t block) const { return max_ + block * max_stride_; }
  float* sum() const { return sum_; }
  kernels::MaskWord* allowed() const { return allowed_; }
  kernels::MaskWord* kept_weights() const { return kept_weights_; }
  const ReturnedScores& returned() const { return returned_; }

 private:
  std::size_t block_stride_;  // 0: every block uses the same room
  std::size_t max_stride_;
  float* p_;    // (kKeyBlock, lanes): scores, then p
  float* max_;  // (lanes)
  float* sum_;  // (lanes)
  kernels::MaskWord* allowed_;
  kernels::MaskWord* kept_weights_;  // by dropout
  ReturnedScores returned_;
};

class QueryTile {
 public:
  QueryTile(const AttentionSpec& spec, const BlockScores* scores, Arena& arena);

  void begin(const QueryRange& range, const CallInputs& inputs);
  // The tile takes blocks in their order; those in which it may attend to
  // nothing change nothing.
  void take(const PackedHead& head, std::size_t block);
  // `attn_weights` (range.count, Lkv): where the range's attention weights go;
  // no data: they are not wanted.
  void finish(const CallInputs& inputs, const CallOutputs& outputs,
              const PackedHead& head, const kernels::Rows<float>& attn_weights);
  // Then: adds the rows to the statistics over several rows.
  void add_to(const PackedHead& head, const RowsTogether& together);

 private:
  // The range's queries against the keys of a block that they may see.
  Tile tile_of(const PackedHead& head, std::size_t block) const;
  TileKind kind_of(const Tile& tile) const;
  // The scores of the block and its mask.
  void score_block(const PackedHead& head, std::size_t block, TileKind kind);
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
  void finish_empty_rows(const NumberView<const void>& value,
                         const NumberView<void>& output) const;
  void finish_empty_weights(bool dropped,
                            const kernels::Rows<float>& weights) const;

  const AttentionSpec& spec_;
  const kernels::AttentionTile& loops_;
  const kernels::TileLayout& layout_;
  const BlockScores* scores_;
  TileScores tile_scores_;
  AddedBlocks added_;
  QueryRange range_{};
  SequencePlace place_{};
  std::size_t lanes_ = 0;
  // The range's queries see no key outside [begin, end).
  std::size_t visible_begin_ = 0;
  std::size_t visible_end_ = 0;
  bool first_ = true;                     // no block was taken yet
  std::span<TileStatistics> statistics_;  // one, where some are asked for
  float* q_t_;                            // (D, lanes)
  float* context_;                        // (Dv8, lanes)
  kernels::RowState state_;               // (lanes) each
};

}  // namespace headwise::inline HEADWISE_ABI
