// The keys and values of one head as the inner loops read them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "attention/call_views.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

// Number of blocks for this many keys.
constexpr std::size_t key_blocks(std::size_t keys) {
  return (keys + kernels::kKeyBlock - 1) / kernels::kKeyBlock;
}

class PackedHead {
 public:
  // Room for one head of the largest sequence.
  PackedHead(const AttentionShape& shape, Arena& arena);

  // Takes key head g of sequence b. Contiguous float32 keys stay where they
  // are, everything else is copied.
  void pack(const AttentionSpec& spec, const CallInputs& inputs, std::size_t b,
            std::size_t g);

  // The blocks [first_block, end_block) hold every key that any query may
  // attend to.
  std::size_t first_block() const { return first_block_; }
  std::size_t end_block() const { return key_blocks(end_ - first_); }
  // Of a block: its first key in the sequence.
  std::size_t first_key(std::size_t block) const {
    return first_ + block * kernels::kKeyBlock;
  }
  // Of a block: how many keys it has.
  std::size_t count(std::size_t block) const {
    return std::min(kernels::kKeyBlock, end_ - first_key(block));
  }
  // Of a block: its keys, D apart.
  const float* keys(std::size_t block) const {
    return rows_ + block * kernels::kKeyBlock * D_;
  }
  // Of a block: its values in panels of 8 columns, (count, 8) each.
  const float* values(std::size_t block) const {
    return values_ + block * block_size_;
  }
  // Whether a value of the block is NaN or infinite.
  bool not_finite(std::size_t block) const { return not_finite_[block]; }

 private:
  std::size_t D_;
  std::size_t Dv_;
  std::size_t block_size_;  // floats of a block's values
  // Of the sequence: the key that blocks are aligned at, and where the packed
  // keys end.
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::size_t first_block_ = 0;
  float* keys_;
  const float* rows_ = nullptr;  // the keys: packed, or where they were given
  float* values_;
  bool* not_finite_;
};

}  // namespace headwise::inline HEADWISE_ABI
