// The keys and values of one head as the inner loops read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "kernels/attention_tile.h"
#include "run/aligned_buffer.h"

namespace headwise {

class PackedHead {
 public:
  // Room for one head of these sizes. Throws std::bad_alloc.
  PackedHead(std::size_t Lkv, std::size_t D, std::size_t Dv);

  // Copies head g of sequence b: key (B, Lkv, Hkv, D), value (B, Lkv, Hkv, Dv).
  void pack(TensorView<const float, 4> key, TensorView<const float, 4> value,
            std::size_t b, std::size_t g);

  // Rows of keys, D apart.
  const float* keys(std::size_t first) const {
    return keys_.data() + first * D_;
  }
  // A block's values: panels of 8 columns, (Dv8 / 8, rows of the block, 8).
  const float* values(std::size_t block) const {
    return values_.data() + block * kernels::kKeyBlock * Dv8_;
  }
  // Rows in a panel of a block: its keys.
  std::size_t rows(std::size_t block) const {
    return std::min(kernels::kKeyBlock, Lkv_ - block * kernels::kKeyBlock);
  }
  // Whether a value of the block is NaN or infinite.
  bool not_finite(std::size_t block) const { return not_finite_[block] != 0; }
  std::size_t value_columns() const { return Dv8_; }

 private:
  void pack_values(TensorView<const float, 4> value, std::size_t b,
                   std::size_t g, std::size_t block);

  std::size_t Lkv_;
  std::size_t D_;
  std::size_t Dv_;
  std::size_t Dv8_;  // Dv rounded up to whole panels
  AlignedBuffer keys_;
  AlignedBuffer values_;
  std::vector<char> not_finite_;
};

}  // namespace headwise
