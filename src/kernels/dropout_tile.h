// Dropout on one tile of attention weights, (keys, lanes), one query a lane
// (kernels/attention_tile.h): which weights are kept, drawn by the generator of
// base/random.h, and what becomes of the weights. Drawn anew wherever it is
// needed; nothing is stored.
//
// Nothing is checked, nothing allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/random.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// The weight of query n and key k is kept when word j mod 4 of
// Philox(counter (sequence, head, position + n, j / 4), key) is at least the
// threshold, j being first_key + k.
struct DrawnTile {
  PhiloxKey key;
  std::uint64_t threshold;
  std::uint32_t sequence;
  std::uint32_t head;
  std::uint32_t position;
  std::size_t first_key;
  std::size_t queries;  // at most 64
  std::size_t keys;
};

struct DropoutTile {
  // Bit n of kept[k] says whether the weight of query n and key k is kept.
  void (*draw)(const DrawnTile& tile, MaskWord* kept);
  // weights = weights * factor where kept, +0 elsewhere.
  void (*drop)(const MaskWord* kept, float factor, std::size_t keys,
               std::size_t lanes, float* weights);
};

// The loops of the best instruction set of this processor, or of the forced
// one.
const DropoutTile& dropout_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
