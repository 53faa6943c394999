// The keys and values of one head as the inner loops read them.
#pragma once

#include <cstddef>

#include "attention/seen_keys.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

// Number of blocks for this many keys.
constexpr std::size_t key_blocks(std::size_t keys) {
  return (keys + kernels::kKeyBlock - 1) / kernels::kKeyBlock;
}

// The rows of a head that are in no tensor, such as those of a cache.
class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = default;
  RowSource& operator=(const RowSource&) = default;
  virtual ~RowSource() = default;

  struct Packed {
    const float* keys;  // in `keys`, or where they are
    bool all_finite;    // every value
  };
  // Packs the keys [first, first + count) of the sequence as rows, and their
  // values in panels (packed_numbers.h).
  virtual Packed pack(std::size_t first, std::size_t count, float* keys,
                      float* values) const = 0;
  // The keys alone: in `keys`, or where they are.
  virtual const float* keys(std::size_t first, std::size_t count,
                            float* keys) const = 0;
};

class PackedHead {
 public:
  // Room for one head of the largest sequence.
  PackedHead(const AttentionSpec& spec, Arena& arena);
  // Room for this number of keys, at most a block: for pack_blocks_of().
  PackedHead(const AttentionSpec& spec, std::size_t keys, Arena& arena);

  // Takes key head g of sequence b. Contiguous float32 keys stay where they
  // are unless they are multiplied in pairs, everything else is copied.
  void pack(const AttentionSpec& spec, const CallTensors& tensors,
            std::size_t b, std::size_t g);
  // Takes a head of sequence b from `rows`, which must outlive its use. A block
  // is packed when it is asked for and is there until another one is. Such a
  // head serves one thread.
  void pack_blocks_of(const AttentionSpec& spec, const RowSource& rows,
                      std::size_t b);

  // The blocks [first_block, end_block) hold every key that any query may
  // attend to.
  std::size_t first_block() const { return seen_.first_block; }
  std::size_t end_block() const { return seen_.end_block(); }
  // Of a block: its first key in the sequence.
  std::size_t first_key(std::size_t block) const {
    return seen_.first_key(block);
  }
  // Of a block: how many keys it has.
  std::size_t count(std::size_t block) const { return seen_.count(block); }
  // Of a block: its keys, packed_key_size() apart.
  const float* keys(std::size_t block) const {
    const std::size_t place = place_of(block);
    return rows_ + place * kernels::kKeyBlock * key_size_;
  }
  // The keys [first, first + count) of the sequence, at most a block, whether
  // or not a query may attend to them: in `memory` (count, packed_key_size) or
  // where they are.
  const float* any_keys(std::size_t first, std::size_t count,
                        float* memory) const;
  // Of a block: its values in panels of 8 columns, (count, 8) each, or as many
  // pairs.
  const float* values(std::size_t block) const {
    return values_ + place_of(block) * block_size_;
  }
  // Whether a value of the block is NaN or infinite.
  bool not_finite(std::size_t block) const {
    return not_finite_[place_of(block)];
  }

 private:
  static constexpr std::size_t kNoBlock = ~std::size_t{0};

  // Where the block is in the memory.
  std::size_t place_of(std::size_t block) const {
    if (source_ == nullptr) {
      return block;
    }
    if (block != packed_block_) {
      pack_block(block);
    }
    return 0;
  }
  void pack_block(std::size_t block) const;

  const AttentionSpec* spec_;
  std::size_t key_size_;    // floats of a key
  std::size_t block_size_;  // floats of a block's values
  SeenKeys seen_;
  float* keys_;
  // The keys: packed, or where they were given.
  mutable const float* rows_ = nullptr;
  float* values_;
  bool* not_finite_;
  // Where the keys come from: a tensor, or a source that packs one block.
  TensorArg key_;
  SequencePlace place_{};
  std::size_t g_ = 0;
  const RowSource* source_ = nullptr;
  mutable std::size_t packed_block_ = kNoBlock;
};

}  // namespace headwise::inline HEADWISE_ABI
