// Masks of rows whose lanes are keys: a word has a bit per key, where the words
// of steps/mask_tile have one per query.
#pragma once

#include <cstddef>

#include "headwise/steps/mask.h"
#include "kernels/row_tile.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

struct SeenByRows {
  bool everything;  // every row sees every key
  bool nothing;
};

// Heads whose queries are rows: those of tile.h first, then of the next one.
struct RowHeads {
  std::size_t count;
  bool alike;  // same_for_all_heads() of the mask
};

// Which keys of the tile each row sees. `rows` has words for each row, `words`
// (kKeyBlock) is memory.
SeenByRows mask_rows(const BoundMask& mask, Tile tile, RowHeads heads,
                     kernels::MaskWord* words, kernels::KeyWords* rows);

}  // namespace headwise::inline HEADWISE_ABI
