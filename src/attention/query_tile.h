// One tile of queries against the whole of one head's keys: the blocks one by
// one, in order, folded into the rows' state.
#pragma once

#include <cstddef>
#include <vector>

#include "attention/inputs.h"
#include "attention/packed_head.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "run/aligned_buffer.h"

namespace headwise {

// The queries [first, first + count) of head h of sequence b.
struct QueryRange {
  std::size_t b;
  std::size_t h;
  std::size_t first;
  std::size_t count;
};

// A worker's memory for its tiles.
class QueryTile {
 public:
  // Throws std::bad_alloc.
  explicit QueryTile(const AttentionSpec& spec);

  // `attn_weights` (range.count, Lkv): where the range's attention weights go;
  // no view: they are not wanted.
  void run(const QueryRange& range, const AttentionInputsOf<float>& inputs,
           const AttentionOutputs& outputs, const PackedHead& head,
           TensorView<float, 2> attn_weights);

 private:
  struct Block {
    std::size_t index;
    std::size_t count;  // its keys, up to the last that a query may attend to
    TileKind kind;
    float* p;    // (count, lanes): scores, then p
    float* max;  // (lanes)
  };

  // The blocks that are not empty, each with its place in scores_.
  std::vector<Block> blocks_of(const QueryRange& range);
  // Scores, mask, softmax; the sums of the block stand first in rows_.
  void softmax_block(const QueryRange& range, const Block& block,
                     const PackedHead& head);
  void drop(const QueryRange& range, const Block& block) const;
  void finish_empty_rows(const QueryRange& range,
                         TensorView<const float, 4> value,
                         const AttentionOutputs& outputs,
                         TensorView<float, 2> weights) const;
  void store_lse(const QueryRange& range, TensorView<float, 3> lse) const;
  void store_weights(const QueryRange& range, const std::vector<Block>& blocks,
                     const PackedHead& head, TensorView<float, 2> weights);
  static Tile tile_of(const QueryRange& range, std::size_t block,
                      std::size_t count);
  bool keeps_p() const;

  const AttentionSpec& spec_;
  const kernels::AttentionTile& loops_;
  std::size_t lanes_ = 0;
  AlignedBuffer q_t_;      // (D, lanes)
  AlignedBuffer scores_;   // (kKeyBlock, lanes), or all blocks' when kept
  AlignedBuffer maxima_;   // (lanes) a block whose p is kept
  AlignedBuffer context_;  // (Dv8, lanes)
  AlignedBuffer rows_;     // block sum, M, sum: (3, lanes)
  std::vector<kernels::MaskWord> allowed_;
};

}  // namespace headwise
