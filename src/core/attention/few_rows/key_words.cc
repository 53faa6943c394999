#include "attention/few_rows/key_words.h"

#include <algorithm>

#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

void turn_words(const Tile& tile, TileKind kind, const kernels::MaskWord* words,
                kernels::KeyWords* rows) {
  for (std::size_t i = 0; i < tile.queries; ++i) {
    kernels::KeyWords& row = rows[i];
    row.fill(kind == TileKind::full ? ~kernels::MaskWord{0} : 0);
    for (std::size_t k = 0; kind == TileKind::partial && k < tile.keys; ++k) {
      row[k / 64] |= (words[k] >> i & 1) << (k % 64);
    }
  }
}

}  // namespace

SeenByRows mask_rows(const BoundMask& mask, Tile tile, RowHeads heads,
                     kernels::MaskWord* words, kernels::KeyWords* rows) {
  if (mask.allows_all()) {
    return {true, false};
  }
  SeenByRows seen = {true, true};
  for (std::size_t head = 0; head < heads.count; ++head, ++tile.h) {
    kernels::KeyWords* const own = rows + head * tile.queries;
    if (head != 0 && heads.alike) {
      std::copy_n(rows, tile.queries, own);
      continue;
    }
    const TileKind kind = classify(mask, tile);
    if (kind == TileKind::partial) {
      fill_words(mask, tile, {words, kernels::kKeyBlock});
    }
    seen.everything = seen.everything && kind == TileKind::full;
    seen.nothing = seen.nothing && kind == TileKind::empty;
    turn_words(tile, kind, words, own);
  }
  return seen;
}

}  // namespace headwise::inline HEADWISE_ABI
