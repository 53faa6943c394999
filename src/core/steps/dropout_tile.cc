#include "steps/dropout_tile.h"

#include "kernels/dropout_tile.h"

namespace headwise::inline HEADWISE_ABI {

void fill_words(const BoundDropout& dropout, const Tile& tile,
                std::span<std::uint64_t> kept) {
  const TensorView<const bool, 4> keep_mask = dropout.keep_mask();
  if (keep_mask.data() == nullptr) {
    kernels::dropout_tile().draw(
        {dropout.key(), dropout.threshold(), dropout.sequence_id(tile.b),
         dropout.head(tile.h), dropout.position(tile.b, tile.first_query),
         dropout.key(tile.first_key), tile.queries, tile.keys},
        kept.data());
    return;
  }
  for (std::size_t k = 0; k < tile.keys; ++k) {
    kept[k] = 0;
    for (std::size_t n = 0; n < tile.queries; ++n) {
      const bool stays = keep_mask(tile.b, tile.h, tile.first_query + n,
                                   dropout.column(tile.first_key + k));
      kept[k] |= std::uint64_t{stays} << n;
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
