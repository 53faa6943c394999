#include "steps/t5_tile.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {
namespace {

// Calls visit(bucket, begin, end) for the diagonals [begin, end) of each
// bucket, from the earliest keys, which are on the last diagonals, to the
// latest.
template <class Visit>
void for_each_bucket(const BoundT5Bias& bias, const Tile& tile,
                     std::size_t count, const Visit& visit) {
  // The offset of diagonal d is last - d.
  const std::int64_t last =
      bias.offset(tile.b, tile.first_query, tile.first_key) +
      static_cast<std::int64_t>(tile.keys) - 1;
  const auto pieces = bias.pieces();
  auto next = std::ranges::upper_bound(
      pieces, last - static_cast<std::int64_t>(count) + 1, {},
      &BoundT5Bias::Piece::first);
  for (std::size_t end = count; end > 0; ++next) {
    const bool ends_here = next != pieces.end() && next->first <= last;
    const std::size_t begin =
        ends_here ? static_cast<std::size_t>(last - next->first + 1) : 0;
    visit(std::prev(next)->bucket, begin, end);
    end = begin;
  }
}

}  // namespace

void fill_diagonals(const BoundT5Bias& bias, const Tile& tile,
                    std::span<float> diagonals) {
  for_each_bucket(bias, tile, diagonals.size(),
                  [&](std::size_t bucket, std::size_t begin, std::size_t end) {
                    std::ranges::fill(diagonals.subspan(begin, end - begin),
                                      bias.table()(bucket, tile.h));
                  });
}

void add_to_buckets(const BoundT5Bias& bias, const Tile& tile,
                    std::span<const float> diagonals, std::span<float> sums) {
  for_each_bucket(bias, tile, diagonals.size(),
                  [&](std::size_t bucket, std::size_t begin, std::size_t end) {
                    float sum = 0;
                    for (std::size_t d = end; d-- > begin;) {
                      sum += diagonals[d];
                    }
                    sums[bucket] += sum;
                  });
}

}  // namespace headwise::inline HEADWISE_ABI
