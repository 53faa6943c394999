// One head of a sequence in a cache, as attention/forward packs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/forward/packed_head.h"
#include "decode/cache_state.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class StoredHead final : public RowSource {
 public:
  // Memory for the values of a block, before they are in panels.
  static float* take_memory(const KvCacheOptions& options, Arena& arena);

  enum class Values { packed, in_keys };  // in_keys: not packed

  StoredHead(const CacheState& cache, std::uint32_t slot, std::size_t head,
             float* memory, Values values = Values::packed)
      : cache_(cache),
        slot_(slot),
        head_(head),
        memory_(memory),
        values_(values) {}

  // Tokens that a rolling window gave back are zeros: every mask hides them.
  Packed pack(std::size_t first, std::size_t count, float* keys,
              float* values) const override;
  const float* keys(std::size_t first, std::size_t count,
                    float* keys) const override;

 private:
  void load(std::size_t first, std::size_t count, float* keys,
            float* values) const;
  // Whether every value is finite, or none of their cells says otherwise.
  bool all_finite(std::size_t first, std::size_t count) const;
  // The values of a block that needs no conversion, or keys that are rows; no
  // data: it does.
  kernels::Rows<const float> in_place(std::size_t first,
                                      std::size_t count) const;

  const CacheState& cache_;
  std::uint32_t slot_;
  std::size_t head_;
  float* memory_;
  Values values_;
};

}  // namespace headwise::inline HEADWISE_ABI
