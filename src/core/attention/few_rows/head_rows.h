// The query rows that read one head of keys, for few queries: a row of scores
// for each query of each head of the group. Blocks of keys are taken one by
// one; their results are folded in order.
#pragma once

#include <cstddef>
#include <span>

#include "attention/few_rows/row_blocks.h"
#include "attention/seen_keys.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "kernels/row_tile.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// The most rows that read a head of keys.
std::size_t most_rows(const AttentionShape& shape);

// What one block of keys gives the rows, or several blocks folded.
struct RowResults {
  RowResults(const AttentionSpec& spec, Arena& arena);

  float* max;      // (rows)
  float* sum;      // (rows)
  float* context;  // (rows, whole_lines(Dv))
};

// What a worker computes a block in.
struct RowScratch {
  RowScratch(const AttentionSpec& spec, Arena& arena);

  float* scores;                 // (kRowsAtOnce, kKeyBlock)
  kernels::MaskWord* words;      // (kKeyBlock), of a head's queries
  kernels::KeyWords* key_words;  // (rows)
};

class HeadRows {
 public:
  HeadRows(const AttentionSpec& spec, Arena& arena);

  // Takes the rows of key head g of sequence b.
  void begin(std::size_t b, std::size_t g, const CallTensors& tensors);
  // Then, unless the call has the first keys: goes on from a state.
  void resume(const CallTensors& tensors);

  // The blocks [first_block, end_block) hold every key that a row may see.
  std::size_t first_block() const { return keys_.first_block; }
  std::size_t end_block() const { return keys_.end_block(); }

  // The result of one block; `blocks` has begun the same head. Changes nothing
  // of the rows.
  void attend(std::size_t block, RowBlocks& blocks, const RowScratch& scratch,
              const RowResults& result) const;
  // Adds the result of the next block.
  void fold(const RowResults& result);
  // Adds the sinks and writes the outputs. The values are only read for
  // EmptyRow::uniform.
  void finish(const CallTensors& tensors);
  // In place of finish(), unless the call has the last keys.
  void save(const CallTensors& tensors);

 private:
  // Calls body(rows, first) for all query rows of a tensor, from the row
  // `first` of this class on: one query of all heads, or the queries of each
  // head.
  template <class Void, class Body>
  void for_rows(const TensorArg& tensor, const Body& body) const;
  // A sink is a block whose sum is 1 and that has no value.
  void fold_sinks();
  // p of the rows [first, first + count) and the block's max.
  void score(const RowBlock& keys, const kernels::StoredTile& loops,
             const Tile& tile, std::size_t first, std::size_t count,
             const kernels::KeyWords* allowed, const RowScratch& scratch,
             float* max) const;
  void finish_head(std::size_t head, const CallTensors& tensors) const;

  const AttentionSpec& spec_;
  const kernels::RowTile& loops_;
  bool heads_see_the_same_;
  bool has_terms_;
  std::size_t b_ = 0;
  std::size_t first_head_ = 0;
  std::size_t rows_ = 0;
  SequencePlace place_{};
  SeenKeys keys_{};
  float* q_;  // (rows, packed_row_size)
  RowResults state_;
  std::span<RowResults> sinks_;  // one, where there are any
};

}  // namespace headwise::inline HEADWISE_ABI
