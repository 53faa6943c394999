// A tile whose lanes are the rows of several query heads that read one key
// head, each with its few queries. Where many heads share a key, as in latent
// attention, lanes are full though every sequence has a single query.
#pragma once

#include <cstddef>

#include "attention/forward/packed_head.h"
#include "attention/forward/tile_scores.h"
#include "attention/forward/tile_values.h"
#include "attention/packed_numbers.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// Rows of a tile after some blocks.
struct GroupRows {
  explicit GroupRows(const AttentionSpec& spec, Arena& arena);

  kernels::RowState state;  // (most rows)
  float* context;           // (most rows, whole_lines(Dv))
};

class GroupTile {
 public:
  GroupTile(const AttentionSpec& spec, Arena& arena);

  // Whether a tile may have rows of several heads, where nothing but the mask
  // tells heads apart, and values that are whole vectors.
  static bool serves(const AttentionSpec& spec);
  // Whether values are read where they are: the first features of the keys,
  // which are rows. Pairs of keys are packed as those of any other values.
  static bool values_in_keys(const AttentionSpec& spec) {
    return !values_in_pairs(spec);
  }
  // The most rows of a tile.
  static std::size_t most_rows() {
    return kernels::attention_tile().query_lanes;
  }

  // The rows [first, first + count) of key head g of sequence b; row n is query
  // n % Lq of query head n / Lq of the group.
  void begin(std::size_t b, std::size_t g, std::size_t first, std::size_t count,
             const TensorArg& query);
  // Begins the same rows again, before any block.
  void begin_rows();
  // Takes the next block.
  void take(const PackedHead& head, std::size_t block);
  void finish(const CallTensors& tensors) const;

  // In place of finish(): what the rows have of the blocks that were taken. The
  // context of a row whose sum is 0 is not written.
  void store(const GroupRows& rows) const;
  // Writes the outputs of these rows.
  void finish(const GroupRows& rows, const CallTensors& tensors) const;

 private:
  struct Row {
    float max;
    float sum;
    const float* context;
    std::size_t stride;  // between features
  };

  std::size_t head_of(std::size_t n) const {
    return first_head_ + (first_ + n) / place_.Lq;
  }
  std::size_t query_of(std::size_t n) const { return (first_ + n) % place_.Lq; }
  TileKind mask_words(Tile tile);
  void weigh(const PackedHead& head, std::size_t block,
             kernels::MaskWord* allowed, const kernels::Fold& fold) const;
  void finish_row(std::size_t n, const Row& row,
                  const CallTensors& tensors) const;

  const AttentionSpec& spec_;
  const kernels::AttentionTile& loops_;
  const kernels::TileLayout& layout_;
  TileScores tile_scores_;
  TileValues tile_values_;
  std::size_t b_ = 0;
  SequencePlace place_{};
  std::size_t first_head_ = 0;
  std::size_t first_ = 0;  // row
  std::size_t count_ = 0;  // rows
  std::size_t lanes_ = 0;
  bool empty_ = true;  // no block was taken yet
  float* rows_;        // (lanes, D): queries on their way to q_t
  float* q_t_;         // (packed_key_size, lanes)
  float* context_;     // (Dv8, lanes)
  float* p_;           // (kKeyBlock, lanes)
  float* max_;         // (lanes), of a block
  float* sum_;         // (lanes), of a block
  kernels::RowState state_;
  kernels::MaskWord* words_;    // (kKeyBlock), of one head
  kernels::MaskWord* allowed_;  // (kKeyBlock), of all rows
};

}  // namespace headwise::inline HEADWISE_ABI
