// One head of a sequence in a cache, as attention/forward packs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/forward/packed_head.h"
#include "decode/cache_state.h"
#include "headwise/attention/spec.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class StoredHead final : public RowSource {
 public:
  // A block in float32, before it is packed.
  struct Memory {
    float* keys;    // (kKeyBlock, D), where they are multiplied in pairs
    float* values;  // (kKeyBlock, Dv)
  };
  static Memory take_memory(const AttentionSpec& spec,
                            const KvCacheOptions& options, Arena& arena);

  enum class Values { packed, in_keys };  // in_keys: not packed

  StoredHead(const AttentionSpec& spec, const CacheState& cache,
             std::uint32_t slot, std::size_t head, const Memory& memory,
             Values values = Values::packed)
      : spec_(spec),
        cache_(cache),
        slot_(slot),
        head_(head),
        memory_(memory),
        values_(values) {}

  // Tokens that a rolling window gave back are zeros: every mask hides them.
  Packed pack(std::size_t first, std::size_t count, float* keys,
              float* values) const override;
  const float* keys(std::size_t first, std::size_t count,
                    float* keys) const override;
  // The keys in float32, as rows of D: in `keys`, or where they are.
  const float* rows(std::size_t first, std::size_t count, float* keys) const;

 private:
  void load(std::size_t first, std::size_t count, float* keys,
            float* values) const;
  // Keys that are float32 rows, as the products take them: in `keys`, or where
  // they are.
  const float* packed(const float* rows, std::size_t count, float* keys) const;
  std::ptrdiff_t row_stride() const {
    return static_cast<std::ptrdiff_t>(cache_.options.head_dim);
  }
  // Whether every value is finite, or none of their cells says otherwise.
  bool all_finite(std::size_t first, std::size_t count) const;
  // The values of a block that needs no conversion, or keys that are rows; no
  // data: it does.
  kernels::Rows<const float> in_place(std::size_t first,
                                      std::size_t count) const;

  const AttentionSpec& spec_;
  const CacheState& cache_;
  std::uint32_t slot_;
  std::size_t head_;
  Memory memory_;
  Values values_;
};

}  // namespace headwise::inline HEADWISE_ABI
