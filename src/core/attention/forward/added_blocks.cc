#include "attention/forward/added_blocks.h"

#include <algorithm>
#include <utility>

#include "attention/packed_numbers.h"

namespace headwise::inline HEADWISE_ABI {

AddedBlocks::AddedBlocks(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      row_(arena.take<float>(spec.added_keys.count() == 0
                                 ? 0
                                 : std::max(spec.shape.D, spec.shape.Dv))) {
  for (std::size_t n = 0; n < count(); ++n) {
    keys_[n] = arena.take<float>(packed_key_size(spec));
    values_[n] = arena.take<float>(packed_values_size(spec, 1));
  }
}

void AddedBlocks::pack(std::size_t g) {
  const BoundAddedKeys& added = spec_.added_keys;
  const auto row = [&](std::size_t size) {
    return kernels::Rows<const float>{row_, 1,
                                      static_cast<std::ptrdiff_t>(size), 1};
  };
  const auto [D, Dv] = std::pair(spec_.shape.D, spec_.shape.Dv);
  for (std::size_t n = 0; n < count(); ++n) {
    for (std::size_t d = 0; d < D; ++d) {
      row_[d] = added.key(n, g, d);
    }
    pack_keys(spec_, row(D), keys_[n]);
    for (std::size_t c = 0; c < Dv; ++c) {
      row_[c] = added.value(n, g, c);
    }
    if (Dv != 0) {
      pack_values(spec_, row(Dv), values_[n]);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
