#include "attention/forward/packed_head.h"

#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;

PackedHead::PackedHead(const AttentionShape& shape, Arena& arena)
    : PackedHead(shape, shape.Lkv, arena) {}

PackedHead::PackedHead(const AttentionShape& shape, std::size_t keys,
                       Arena& arena)
    : D_(shape.D),
      Dv_(shape.Dv),
      block_size_(kernels::value_columns(shape.Dv) / kernels::kValuePanel *
                  kernels::value_panel_size(kKeyBlock)),
      keys_(arena.take<float>(keys, D_)),
      values_(arena.take<float>(key_blocks(keys), block_size_)),
      not_finite_(arena.take<bool>(key_blocks(keys))) {}

void PackedHead::pack_blocks_of(const AttentionSpec& spec,
                                const RowSource& rows, std::size_t b) {
  seen_ = seen_keys(spec, b);
  source_ = &rows;
  packed_block_ = kNoBlock;
}

void PackedHead::pack_block(std::size_t block) const {
  const RowSource::Packed packed =
      source_->pack(first_key(block), count(block), keys_, values_);
  rows_ = packed.keys;
  not_finite_[0] = !packed.all_finite;
  packed_block_ = block;
}

const float* PackedHead::any_keys(std::size_t first, std::size_t count,
                                  float* memory) const {
  if (source_ != nullptr) {
    return source_->keys(first, count, memory);
  }
  kernels::tile_layout().pack_keys(
      key_.rows(place_.batch, place_.first_key + first, g_, count), D_, memory);
  return memory;
}

void PackedHead::pack(const AttentionSpec& spec, const CallInputs& inputs,
                      std::size_t b, std::size_t g) {
  const kernels::TileLayout& layout = kernels::tile_layout();
  place_ = spec.shape.sequence(b);
  g_ = g;
  key_ = inputs.key;
  seen_ = seen_keys(spec, b);
  source_ = nullptr;
  const auto rows_of = [&](const NumberView<const void>& tensor,
                           std::size_t block) {
    return tensor.rows(place_.batch, place_.first_key + first_key(block), g_,
                       count(block));
  };
  const bool side_by_side =
      inputs.key.dtype() == DType::float32 && inputs.key.stride(3) == 1 &&
      inputs.key.stride(1) == static_cast<std::ptrdiff_t>(D_);
  rows_ = side_by_side && seen_.first < seen_.end
              ? static_cast<const float*>(rows_of(inputs.key, 0).data)
              : keys_;
  for (std::size_t block = first_block(); block < end_block(); ++block) {
    if (!side_by_side) {
      layout.pack_keys(rows_of(inputs.key, block), D_,
                       keys_ + block * kKeyBlock * D_);
    }
    not_finite_[block] =
        Dv_ != 0 && !layout.pack_values(rows_of(inputs.value, block), Dv_,
                                        values_ + block * block_size_);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
