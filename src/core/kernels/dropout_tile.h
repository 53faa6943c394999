// Dropout on one tile of attention weights, (keys, lanes), one query per lane
// (kernels/attention_tile.h): which weights the generator of base/random.h
// keeps, and the dropped weights. Numbers are drawn again wherever they are
// needed; nothing is stored.
//
// Nothing is checked or allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/random.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// The weight of query n and key k is kept if word j mod 4 of Philox(counter
// (sequence, head, position + n, j / 4), key) is at least the threshold, where
// j = first_key + k.
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

// The loops for the best instruction set of this processor, or the forced one.
const DropoutTile& dropout_tile();

}  // namespace headwise::inline HEADWISE_ABI::kernels
