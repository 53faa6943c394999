#include "attention/forward/packed_head.h"

#include "attention/number_rows.h"
#include "attention/packed_numbers.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;

PackedHead::PackedHead(const AttentionSpec& spec, Arena& arena)
    : PackedHead(spec, spec.shape.Lkv, arena) {}

PackedHead::PackedHead(const AttentionSpec& spec, std::size_t keys,
                       Arena& arena)
    : spec_(&spec),
      key_size_(packed_key_size(spec)),
      block_size_(packed_values_size(spec, kKeyBlock)),
      keys_(arena.take<float>(keys, key_size_)),
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
  pack_keys(*spec_,
            number_rows<const void>(key_, place_.batch,
                                    place_.first_key + first, g_, count),
            memory);
  return memory;
}

void PackedHead::pack(const AttentionSpec& spec, const CallTensors& tensors,
                      std::size_t b, std::size_t g) {
  spec_ = &spec;
  place_ = spec.shape.sequence(b);
  g_ = g;
  key_ = tensors[CallTensor::key];
  const TensorArg& value = tensors[CallTensor::value];
  seen_ = seen_keys(spec, b);
  source_ = nullptr;
  const auto rows_of = [&](const TensorArg& tensor, std::size_t block) {
    return number_rows<const void>(tensor, place_.batch,
                                   place_.first_key + first_key(block), g_,
                                   count(block));
  };
  const bool side_by_side =
      !keys_in_pairs(spec) && key_.dtype() == DType::float32 &&
      key_.stride(3) == 1 &&
      key_.stride(1) == static_cast<std::ptrdiff_t>(key_size_);
  rows_ = side_by_side && seen_.first < seen_.end
              ? static_cast<const float*>(rows_of(key_, 0).data)
              : keys_;
  for (std::size_t block = first_block(); block < end_block(); ++block) {
    if (!side_by_side) {
      pack_keys(spec, rows_of(key_, block),
                keys_ + block * kKeyBlock * key_size_);
    }
    not_finite_[block] =
        spec.shape.Dv != 0 && !pack_values(spec, rows_of(value, block),
                                           values_ + block * block_size_);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
