#include "attention/forward/added_blocks.h"

#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

AddedBlocks::AddedBlocks(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      row_(
          arena.take<float>(spec.added_keys.count() == 0 ? 0 : spec.shape.Dv)) {
  const std::size_t panels =
      kernels::value_columns(spec.shape.Dv) / kernels::kValuePanel;
  for (std::size_t n = 0; n < count(); ++n) {
    keys_[n] = arena.take<float>(spec.shape.D);
    values_[n] = arena.take<float>(panels, kernels::value_panel_size(1));
  }
}

void AddedBlocks::pack(std::size_t g) {
  const BoundAddedKeys& added = spec_.added_keys;
  const std::size_t Dv = spec_.shape.Dv;
  for (std::size_t n = 0; n < count(); ++n) {
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      keys_[n][d] = added.key(n, g, d);
    }
    for (std::size_t c = 0; c < Dv; ++c) {
      row_[c] = added.value(n, g, c);
    }
    if (Dv != 0) {
      kernels::tile_layout().pack_values(
          kernels::Rows<const float>{row_, 1, static_cast<std::ptrdiff_t>(Dv),
                                     1},
          Dv, values_[n]);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
