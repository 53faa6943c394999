// What T5's bias says of a tile. It is the same along a diagonal, so that a
// tile of q queries and k keys has at most q + k - 1 of its numbers.
#pragma once

#include <span>

#include "headwise/steps/t5_bias.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// diagonals[d]: the bias of query n and key k of the tile where n - k + keys -
// 1 is d (kernels/score_terms.h).
void fill_diagonals(const BoundT5Bias& bias, const Tile& tile,
                    std::span<float> diagonals);

// sums[bucket] += the sum of the bucket's diagonals from the earliest keys to
// the latest. `sums` has an element per bucket.
void add_to_buckets(const BoundT5Bias& bias, const Tile& tile,
                    std::span<const float> diagonals, std::span<float> sums);

}  // namespace headwise::inline HEADWISE_ABI
