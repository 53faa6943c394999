// What booleans in memory say of a tile of the scores.
#pragma once

#include <cstdint>
#include <span>

#include "steps/mask_rule.h"
#include "steps/tile.h"

namespace headwise::internal::inline HEADWISE_ABI {

TileKind classify_booleans(const Booleans& values, const Tile& tile);
// Clears bit n of allowed[k] where query n's boolean of key k is false.
void restrict_by_booleans(const Booleans& values, const Tile& tile,
                          std::span<std::uint64_t> allowed);

}  // namespace headwise::internal::inline HEADWISE_ABI
