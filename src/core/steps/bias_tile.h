// What a bias says of a tile: -inf masks a key (steps/bias.h).
#pragma once

#include <cstdint>
#include <span>

#include "headwise/steps/bias.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// By reading the tile's biases: full without a -inf, empty with nothing else.
TileKind classify_bias(const BoundBias& bias, const Tile& tile);
// Clears bit n of allowed[k] where query n's bias of key k is -inf.
void restrict_by_bias(const BoundBias& bias, const Tile& tile,
                      std::span<std::uint64_t> allowed);

}  // namespace headwise::inline HEADWISE_ABI
