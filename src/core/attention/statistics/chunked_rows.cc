#include "attention/statistics/chunked_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention/forward/run_tiles.h"
#include "attention/forward/tiling.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kQueryBlock;

struct Chunk {
  std::size_t first;
  std::size_t count;
};

// Of the queries that count: each of as many whole blocks of 48 as it takes.
// Those behind them belong to the last chunk.
Chunk chunk_of(const AttentionSpec& spec, std::size_t b, std::size_t n) {
  constexpr std::size_t kOfAll = kQueryBlock * ChunkedRows::kMost;
  const std::size_t counted =
      std::max<std::size_t>(spec.statistics.queries(b), 1);
  const std::size_t size = (counted + kOfAll - 1) / kOfAll * kQueryBlock;
  const std::size_t Lq = spec.shape.sequence(b).Lq;
  const std::size_t first = std::min(n * size, Lq);
  const std::size_t end =
      n + 1 == ChunkedRows::kMost ? Lq : std::min(first + size, Lq);
  return {first, end - first};
}

}  // namespace

std::size_t ChunkedRows::most_of(std::size_t queries) {
  return std::clamp<std::size_t>((queries + kQueryBlock - 1) / kQueryBlock, 1,
                                 kMost);
}

void ChunkedRows::run(const QueryHead& of, std::size_t number,
                      const PackedHead& head, std::span<QueryTile> tiles,
                      const RowsTogether& together) const {
  together.clear();
  const Chunk chunk = chunk_of(spec_, of.b, number);
  const Tiling tiling(chunk.first, chunk.count);
  // In groups as even as they go: a thin one reads the keys for few queries.
  const std::size_t groups = (tiling.count() + tiles.size() - 1) / tiles.size();
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t t = tiling.count() * group / groups;
    const std::size_t end = tiling.count() * (group + 1) / groups;
    const std::span<QueryTile> some = tiles.first(end - t);
    run_tiles(spec_, tensors_, head, some,
              [&](std::size_t n) { return tiling.range(of.b, of.h, t + n); });
    for (QueryTile& tile : some) {
      tile.add_to(head, together);
    }
  }
}

void ChunkedRows::join(const QueryHead& of,
                       std::span<const RowsTogether> chunks) const {
  if (tensors_.has(CallTensor::columns)) {
    join_columns(of, chunks);
  }
  if (tensors_.has(CallTensor::map_mean)) {
    join_maps(of, chunks);
  }
}

void ChunkedRows::join_columns(const QueryHead& of,
                               std::span<const RowsTogether> chunks) const {
  const auto columns = tensors_.floats<3>(CallTensor::columns);
  const SequencePlace place = spec_.shape.sequence(of.b);
  const std::size_t first = std::min(spec_.mask.first_key(of.b), place.Lkv);
  const bool padded = spec_.shape.offsets.batched_queries();
  const std::size_t at = padded ? 0 : place.first_key;
  for (std::size_t j = 0; j < place.Lkv; ++j) {
    float sum = 0;
    for (const RowsTogether& chunk : chunks) {
      sum += j < first ? 0 : kernels::column_sum(chunk.columns, j - first);
    }
    columns(place.batch, of.h, at + j) = std::isnan(sum) ? kNaN : sum;
  }
  for (std::size_t j = place.Lkv; padded && j < spec_.shape.Lkv; ++j) {
    columns(place.batch, of.h, j) = 0;
  }
}

void ChunkedRows::join_maps(const QueryHead& of,
                            std::span<const RowsTogether> chunks) const {
  const auto means = tensors_.floats<4>(CallTensor::map_mean);
  const auto most = tensors_.floats<4>(CallTensor::map_largest);
  const std::size_t Lkv = spec_.shape.sequence(of.b).Lkv;
  const std::size_t rows = map_size(spec_.statistics.queries(of.b));
  const std::size_t cells = map_size(Lkv);
  for (std::size_t r = 0; r < means.extent(2); ++r) {
    for (std::size_t c = 0; c < means.extent(3); ++c) {
      float sum = 0;
      float largest = 0;
      std::int64_t counted = 0;
      for (const RowsTogether& chunk : chunks) {
        if (r >= rows || c >= cells) {
          break;
        }
        sum += chunk.map_sum[r * cells + c];
        const float here = chunk.map_largest[r * cells + c];
        largest = here > largest || std::isnan(here) ? here : largest;
        counted += chunk.map_rows[r];
      }
      const std::size_t keys = c < cells ? map_cell_size(c, Lkv) : 0;
      const std::int64_t pairs = counted * static_cast<std::int64_t>(keys);
      const float mean = pairs == 0 ? 0 : sum / static_cast<float>(pairs);
      means(of.b, of.h, r, c) = std::isnan(mean) ? kNaN : mean;
      most(of.b, of.h, r, c) = std::isnan(sum) ? kNaN : largest;
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
