#include "cuda/tiles.h"

#include <algorithm>
#include <span>

#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

bool is_interval(const internal::StoredMaskRule& rule) {
  return rule.type->form == internal::MaskForm::one_interval;
}

KeyRange range_of(const BoundMask& mask, std::size_t b, std::size_t i,
                  std::size_t Lkv) {
  const std::size_t end = std::min(mask.visible_end(b, i, 1), Lkv);
  const std::size_t begin = std::min(mask.visible_begin(b, i, 1), end);
  return {static_cast<int>(begin), static_cast<int>(end)};
}

}  // namespace

std::vector<KeyRange> key_ranges(const AttentionSpec& spec) {
  if (std::ranges::none_of(spec.mask.rules(), is_interval)) {
    return {};
  }
  std::vector<KeyRange> ranges(spec.shape.B * spec.shape.Lq, KeyRange{0, 0});
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    const SequencePlace place = spec.shape.sequence(b);
    for (std::size_t i = 0; i < place.Lq; ++i) {
      ranges[b * spec.shape.Lq + i] = range_of(spec.mask, b, i, place.Lkv);
    }
  }
  return ranges;
}

namespace {

// Of `count` queries of sequence b; `ranges` may be empty.
QueryTile query_tile(const AttentionSpec& spec,
                     const std::vector<KeyRange>& ranges, std::size_t b,
                     std::size_t first, std::size_t count) {
  const auto Lkv = static_cast<int>(spec.shape.sequence(b).Lkv);
  QueryTile tile = {static_cast<int>(b),
                    static_cast<int>(first),
                    static_cast<int>(count),
                    0,
                    Lkv,
                    0,
                    Lkv,
                    static_cast<int>(spec.mask.first_key(b))};
  if (ranges.empty()) {
    return tile;
  }
  tile.begin = Lkv;
  tile.end = 0;
  for (const KeyRange& keys :
       std::span(ranges).subspan(b * spec.shape.Lq + first, count)) {
    if (keys.begin < keys.end) {
      tile.begin = std::min(tile.begin, keys.begin);
      tile.end = std::max(tile.end, keys.end);
    }
    tile.full_begin = std::max(tile.full_begin, keys.begin);
    tile.full_end = std::min(tile.full_end, keys.end);
  }
  return tile;
}

}  // namespace

std::vector<QueryTile> query_tiles(const AttentionSpec& spec,
                                   const std::vector<KeyRange>& ranges,
                                   std::size_t rows) {
  std::vector<QueryTile> tiles;
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    const std::size_t Lq = spec.shape.sequence(b).Lq;
    for (std::size_t first = 0; first < Lq; first += rows) {
      tiles.push_back(
          query_tile(spec, ranges, b, first, std::min(rows, Lq - first)));
    }
  }
  return tiles;
}

namespace {

// Of the keys from `first` on; `blocks` are the queries of their sequence.
KeyTile key_tile(std::span<const QueryTile> blocks, std::size_t b,
                 std::size_t first, std::size_t keys, std::size_t rows,
                 bool uniform) {
  KeyTile tile = {static_cast<int>(b), static_cast<int>(first), 0, 0, 0, 0};
  const int begin = tile.first_key;
  const int end = begin + static_cast<int>(keys);
  for (const QueryTile& q : blocks) {
    const int next = q.first_query + static_cast<int>(rows);
    if (uniform || (q.begin < end && q.end > begin)) {
      tile.begin = tile.begin == tile.end ? q.first_query : tile.begin;
      tile.end = next;
    }
    // The first run of whole blocks; others behind it are taken as partial.
    const bool full = q.full_begin <= begin && end <= q.full_end &&
                      q.queries == static_cast<int>(rows);
    const bool none_so_far = tile.full_begin == tile.full_end;
    if (full && (none_so_far || tile.full_end == q.first_query)) {
      tile.full_begin = none_so_far ? q.first_query : tile.full_begin;
      tile.full_end = next;
    }
  }
  return tile;
}

}  // namespace

std::vector<KeyTile> key_tiles(const AttentionSpec& spec,
                               const std::vector<KeyRange>& ranges,
                               std::size_t keys, std::size_t rows,
                               bool uniform) {
  const std::vector<QueryTile> blocks = query_tiles(spec, ranges, rows);
  std::vector<KeyTile> tiles;
  std::span<const QueryTile> left = blocks;
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    const SequencePlace place = spec.shape.sequence(b);
    const std::size_t own = (place.Lq + rows - 1) / rows;
    for (std::size_t first = 0; first < place.Lkv; first += keys) {
      tiles.push_back(key_tile(left.first(own), b, first, keys, rows, uniform));
    }
    left = left.subspan(own);
  }
  return tiles;
}

namespace {

// For each of `heads`, the tiles of a sequence side by side, the largest first.
template <class Tile, class Size>
std::vector<WorkItem> largest_first(const std::vector<Tile>& tiles,
                                    std::size_t heads, Size size) {
  std::vector<WorkItem> work;
  work.reserve(tiles.size() * heads);
  std::vector<int> order;
  for (std::size_t first = 0; first < tiles.size();) {
    std::size_t last = first;
    order.clear();
    while (last < tiles.size() && tiles[last].b == tiles[first].b) {
      order.push_back(static_cast<int>(last++));
    }
    std::ranges::stable_sort(order, [&](int a, int b) {
      return size(tiles[static_cast<std::size_t>(a)]) >
             size(tiles[static_cast<std::size_t>(b)]);
    });
    for (std::size_t h = 0; h < heads; ++h) {
      for (const int tile : order) {
        work.push_back({tile, static_cast<int>(h)});
      }
    }
    first = last;
  }
  return work;
}

}  // namespace

std::vector<WorkItem> key_work(const AttentionSpec& spec,
                               const std::vector<KeyTile>& tiles) {
  return largest_first(tiles, spec.shape.Hkv, [](const KeyTile& tile) {
    return tile.end - tile.begin;
  });
}

std::vector<WorkItem> query_work(const AttentionSpec& spec,
                                 const std::vector<QueryTile>& tiles) {
  return largest_first(tiles, spec.shape.Hq, [](const QueryTile& tile) {
    return tile.end - tile.begin;
  });
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
