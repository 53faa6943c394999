#include "steps/mask_tile.h"

#include <algorithm>
#include <cassert>

#include "steps/bias_tile.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

Interval all_keys(const AttentionShape& shape) {
  return {0, static_cast<std::int64_t>(shape.Lkv)};
}

// Both ends are at most Lkv.
Interval visible(const BoundMask& mask, const QueryRows& rows) {
  const Interval keys = rows.within;
  Interval all = keys;
  for (const StoredMaskRule& rule : mask.rules()) {
    const auto [begin, end] = rule.type->visible(rule, rows);
    all = {std::max(all.begin, begin), std::min(all.end, end)};
  }
  return {std::min(all.begin, keys.end), std::max(all.end, keys.begin)};
}

}  // namespace

// Only the rules that are the same for every query of a sequence count.
std::size_t BoundMask::first_key(std::size_t b) const {
  const QueryRows any = {b, 0, 1, 0, all_keys(context_.shape)};
  std::int64_t first = 0;
  for (const StoredMaskRule& rule : rules()) {
    if (!rule.type->varies(rule, false)[2]) {
      first = std::max(first, rule.type->visible(rule, any).begin);
    }
  }
  return static_cast<std::size_t>(first);
}

std::size_t BoundMask::visible_begin(std::size_t b, std::size_t first,
                                     std::size_t queries) const {
  return static_cast<std::size_t>(
      visible(*this,
              {b, first, queries, query_start(b), all_keys(context_.shape)})
          .begin);
}

std::size_t BoundMask::visible_end(std::size_t b, std::size_t first,
                                   std::size_t queries) const {
  return static_cast<std::size_t>(
      visible(*this,
              {b, first, queries, query_start(b), all_keys(context_.shape)})
          .end);
}

TileKind classify(const BoundMask& mask, const Tile& tile) {
  const std::int64_t start = mask.query_start(tile.b);
  TileKind all = TileKind::full;
  for (const StoredMaskRule& rule : mask.rules()) {
    const TileKind kind = rule.type->classify(rule, tile, start);
    if (kind == TileKind::empty) {
      return kind;
    }
    all = kind == TileKind::partial ? kind : all;
  }
  // Last, for it reads the tile's biases.
  const TileKind by_bias =
      mask.bias().given() ? classify_bias(mask.bias(), tile) : all;
  return by_bias == TileKind::full ? all : by_bias;
}

bool same_for_all_heads(const BoundMask& mask) {
  constexpr std::size_t kHeads = 1;
  const auto differ = [](const StoredMaskRule& rule) {
    return rule.type->varies(rule, true)[kHeads];
  };
  return std::ranges::none_of(mask.rules(), differ) &&
         (!mask.bias().given() || mask.bias().strides()[kHeads] == 0);
}

void fill_words(const BoundMask& mask, const Tile& tile,
                std::span<std::uint64_t> allowed) {
  assert(tile.queries <= 64 && tile.keys <= kTileKeys);
  const std::int64_t start = mask.query_start(tile.b);
  std::fill_n(allowed.begin(), tile.keys, internal::low_bits(tile.queries));
  for (const StoredMaskRule& rule : mask.rules()) {
    rule.type->restrict_words(rule, tile, start, allowed);
  }
  if (mask.bias().given()) {
    restrict_by_bias(mask.bias(), tile, allowed);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
