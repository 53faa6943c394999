// The keys and values of one head as the backward loops read them, and the sums
// of their gradients, where they are wanted.
#pragma once

#include <algorithm>
#include <cstddef>

#include "attention/backward/wanted_gradients.h"
#include "attention/forward/packed_head.h"
#include "attention/packed_numbers.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "kernels/gradient_tile.h"
#include "kernels/tile_layout.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class GradientHead {
 public:
  // Room for one head of the largest sequence.
  GradientHead(const AttentionSpec& spec, const WantedGradients& wanted,
               Arena& arena);

  // Takes key head g of sequence b; then pack() takes its blocks, in any order.
  void begin(const AttentionSpec& spec, std::size_t b, std::size_t g);
  // Copies the block's keys and values; its sums become 0.
  void pack(const CallTensors& tensors, std::size_t block);
  // Then, unless the call has the first queries: goes on from a state.
  void resume(const CallTensors& tensors, std::size_t block);
  // Writes the gradients of the block's keys and values.
  void store(const CallTensors& tensors, float scale, std::size_t block) const;
  // Unless the call has the last queries: writes the state instead.
  void save(const CallTensors& tensors, std::size_t block) const;
  // Writes 0 to those that are in no block.
  void clear_others(const CallTensors& tensors) const;
  // Writes what the sequence gives to the learned added key, (D), and to its
  // value, (Dv); null: not wanted.
  void store_learned(float scale, float* d_key, float* d_value) const;

  // Blocks that hold every key that any query may attend to: 128 keys each,
  // aligned where the sequence's keys begin. Where a uniform row reads all
  // values, or the sums of all keys go from part to part, they hold all keys;
  // those in front come first, in blocks of their own.
  std::size_t blocks() const {
    return blocks_in_front() + key_blocks(end_ - first_);
  }
  // With those of the added keys behind them, one each, if the call has the
  // last keys.
  std::size_t all_blocks() const { return blocks() + added_blocks_; }
  bool is_added(std::size_t block) const { return block >= blocks(); }
  // Of a block: its first key in the sequence, or the number of its added key.
  std::size_t first_key(std::size_t block) const {
    if (is_added(block)) {
      return added_.number(block - blocks());
    }
    return block < blocks_in_front()
               ? begin_ + block * kernels::kKeyBlock
               : first_ + (block - blocks_in_front()) * kernels::kKeyBlock;
  }
  // Of a block: how many keys it has.
  std::size_t count(std::size_t block) const {
    if (is_added(block)) {
      return 1;
    }
    const std::size_t end = block < blocks_in_front() ? first_ : end_;
    return std::min(kernels::kKeyBlock, end - first_key(block));
  }
  // Of a block: its keys, packed_key_size() apart, and its values,
  // packed_value_row() apart.
  float* keys(std::size_t block) const {
    return keys_ + block * kernels::kKeyBlock * key_size_;
  }
  float* values(std::size_t block) const {
    return values_ + block * kernels::kKeyBlock * value_size_;
  }
  // Of a block: its keys in panels of 8 columns, (count, 8) each, or as many
  // pairs. Where the gradients of queries are wanted, of dot products.
  float* key_panels(std::size_t block) const {
    return panels_ + block * panels_size_;
  }
  // Whether every key of the block is finite.
  bool finite(std::size_t block) const { return finite_[block]; }
  // Of a block: the sums of its gradients, row_size(D) and row_size(Dv) apart.
  float* d_keys(std::size_t block) const {
    return d_keys_ + block * kernels::kKeyBlock * kernels::row_size(D_);
  }
  float* d_values(std::size_t block) const {
    return d_values_ + block * kernels::kKeyBlock * kernels::row_size(Dv_);
  }

 private:
  void pack_added(std::size_t block);
  void pack_rows(const kernels::NumberRows<const void>& keys,
                 const kernels::NumberRows<const void>& values,
                 std::size_t block);
  std::size_t blocks_in_front() const { return key_blocks(first_ - begin_); }

  void store_block(const TensorArg& key, float scale, const TensorArg& value,
                   std::size_t block) const;

  const BoundAddedKeys& added_;
  std::size_t added_blocks_;
  std::size_t D_;
  std::size_t Dv_;
  bool key_pairs_;
  bool value_pairs_;
  std::size_t key_size_;    // floats of a key
  std::size_t value_size_;  // and of a value
  WantedGradients wanted_;
  std::size_t panels_size_;  // floats of a block's panels; 0: none are needed
  std::size_t g_ = 0;
  SequencePlace place_{};
  // Of the sequence: where the packed keys begin, the key that blocks are
  // aligned at, where the packed keys end.
  std::size_t begin_ = 0;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  float* keys_;
  float* values_;
  float* panels_;
  float* d_keys_;
  float* d_values_;
  bool* finite_;
  float* added_rows_;  // each added key and its value, before they are packed
};

}  // namespace headwise::inline HEADWISE_ABI
