// What dropout keeps of a tile.
#pragma once

#include <cstdint>
#include <span>

#include "headwise/steps/dropout.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// kept[k]: bit n is keeps(b, h, first_query + n, first_key + k). `kept` has at
// least `keys` words.
void fill_words(const BoundDropout& dropout, const Tile& tile,
                std::span<std::uint64_t> kept);

}  // namespace headwise::inline HEADWISE_ABI
