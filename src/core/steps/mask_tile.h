// What a mask, all rules and the bias together, says of a tile and of a range
// of queries.
#pragma once

#include <cstdint>
#include <span>

#include "headwise/steps/mask.h"
#include "steps/mask_rule.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// It may return partial for a tile that is full or empty, never the other way
// round.
TileKind classify(const BoundMask& mask, const Tile& tile);

// Whether what a query may attend to is the same for all heads.
bool same_for_all_heads(const BoundMask& mask);

// allowed[k]: bit n is may_attend(b, h, first_query + n, first_key + k).
// `allowed` has at least `keys` words.
void fill_words(const BoundMask& mask, const Tile& tile,
                std::span<std::uint64_t> allowed);

}  // namespace headwise::inline HEADWISE_ABI
