#include "steps/bias_tile.h"

#include "kernels/score_terms.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

kernels::BiasTile corner_of(const BoundBias& bias, const Tile& tile) {
  return {&bias(tile.b, tile.h, tile.first_query, tile.first_key),
          bias.query_stride(), bias.key_stride(), tile.queries, tile.keys};
}

}  // namespace

TileKind classify_bias(const BoundBias& bias, const Tile& tile) {
  if (tile.queries == 0 || tile.keys == 0) {
    return TileKind::full;
  }
  kernels::BiasTile part = corner_of(bias, tile);
  // If all are the same, one is enough.
  part.queries = part.query_stride == 0 ? 1 : part.queries;
  part.keys = part.key_stride == 0 ? 1 : part.keys;
  const std::size_t masked = kernels::score_terms().count_minus_inf(part);
  return masked == 0                          ? TileKind::full
         : masked == part.queries * part.keys ? TileKind::empty
                                              : TileKind::partial;
}

void restrict_by_bias(const BoundBias& bias, const Tile& tile,
                      std::span<std::uint64_t> allowed) {
  if (tile.queries != 0 && tile.keys != 0) {
    kernels::score_terms().clear_minus_inf(corner_of(bias, tile),
                                           allowed.data());
  }
}

}  // namespace headwise::inline HEADWISE_ABI
