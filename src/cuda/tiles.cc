#include "cuda/tiles.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

struct Row {
  std::size_t b;
  std::size_t i;
  std::int64_t position;
  std::size_t Lkv;
};

// Far beyond every tensor, and far from overflow beside a position.
std::int64_t bounded(std::int64_t distance) {
  return std::min(distance, std::int64_t{1} << 61);
}

Interval interval_of(const mask_rule::Causal& /*rule*/, const Row& row) {
  return {0, row.position + 1};
}

Interval interval_of(const mask_rule::Window& rule, const Row& row) {
  Interval keys;
  if (rule.left) {
    keys.begin = row.position - bounded(*rule.left);
  }
  if (rule.right) {
    keys.end = row.position + bounded(*rule.right) + 1;
  }
  return keys;
}

Interval interval_of(const mask_rule::KeyLengths& rule, const Row& row) {
  return {0, rule.lengths(row.b, rule.per_query ? row.i : 0)};
}

Interval interval_of(const mask_rule::KeyStarts& rule, const Row& row) {
  return {rule.starts(row.b)};
}

// Ids do not decrease: the keys of one document stand side by side.
Interval interval_of(const mask_rule::Documents& rule, const Row& row) {
  const std::size_t b = rule.shared ? 0 : row.b;
  const std::int64_t id = rule.query_ids(b, row.i);
  const auto first_key_where = [&](auto beyond) {
    std::size_t low = 0;
    std::size_t high = row.Lkv;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (beyond(rule.key_ids(b, middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return static_cast<std::int64_t>(low);
  };
  return {first_key_where([&](std::int64_t key) { return key >= id; }),
          first_key_where([&](std::int64_t key) { return key > id; })};
}

Interval interval_of(const mask_rule::KeyPadding& /*rule*/,
                     const Row& /*row*/) {
  return {};
}
Interval interval_of(const mask_rule::Dense& /*rule*/, const Row& /*row*/) {
  return {};
}

bool is_interval(const MaskRule& rule) {
  return !std::holds_alternative<mask_rule::KeyPadding>(rule) &&
         !std::holds_alternative<mask_rule::Dense>(rule);
}

KeyRange range_of(const std::vector<MaskRule>& rules, const Row& row) {
  Interval keys;
  for (const MaskRule& rule : rules) {
    const Interval more =
        std::visit([&](const auto& r) { return interval_of(r, row); }, rule);
    keys.begin = std::max(keys.begin, more.begin);
    keys.end = std::min(keys.end, more.end);
  }
  const auto Lkv = static_cast<std::int64_t>(row.Lkv);
  const std::int64_t end = std::clamp<std::int64_t>(keys.end, 0, Lkv);
  return {static_cast<int>(std::clamp<std::int64_t>(keys.begin, 0, end)),
          static_cast<int>(end)};
}

}  // namespace

std::vector<KeyRange> key_ranges(const AttentionSpec& spec) {
  const std::vector<MaskRule>& rules = spec.mask.rules();
  if (std::ranges::none_of(rules, is_interval)) {
    return {};
  }
  std::vector<KeyRange> ranges(spec.shape.B * spec.shape.Lq, KeyRange{0, 0});
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    const SequencePlace place = spec.shape.sequence(b);
    const std::int64_t start = spec.mask.query_start(b);
    for (std::size_t i = 0; i < place.Lq; ++i) {
      ranges[b * spec.shape.Lq + i] = range_of(
          rules, {b, i, static_cast<std::int64_t>(i) + start, place.Lkv});
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
