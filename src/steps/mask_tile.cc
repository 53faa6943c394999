// The masks by tile: what lets a kernel skip empty tiles and not test full
// ones. may_attend() in mask.cc is what these must agree with
// (MaskTileTest holds it for every mask and every pair of masks).
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "headwise/steps/mask.h"
#include "steps/bias_tile.h"

namespace headwise {
namespace {

using mask_rule::Causal;
using mask_rule::Dense;
using mask_rule::KeyLengths;
using mask_rule::KeyPadding;
using Words = std::span<std::uint64_t>;

// The first `count` bits.
constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

TileKind kind_of(bool full, bool empty) {
  return full ? TileKind::full : empty ? TileKind::empty : TileKind::partial;
}

std::int64_t last_key(const Tile& tile) {
  return static_cast<std::int64_t>(tile.first_key + tile.keys) - 1;
}

// ---- Causal: by the first and the last query's position. ----

TileKind classify(const Causal& /*rule*/, const Tile& tile,
                  std::int64_t start) {
  const std::int64_t first =
      static_cast<std::int64_t>(tile.first_query) + start;
  const std::int64_t last = first + static_cast<std::int64_t>(tile.queries) - 1;
  return kind_of(last_key(tile) <= first,
                 static_cast<std::int64_t>(tile.first_key) > last);
}

void restrict(const Causal& /*rule*/, const Tile& tile, std::int64_t start,
              Words allowed) {
  const std::int64_t first =
      static_cast<std::int64_t>(tile.first_query) + start;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    const std::int64_t hidden =
        static_cast<std::int64_t>(tile.first_key + k) - first;
    if (hidden > 0) {
      allowed[k] &= ~low_bits(
          static_cast<std::size_t>(std::min<std::int64_t>(hidden, 64)));
    }
  }
}

// ---- Lengths: one for the sequence, or one for each query. ----

TileKind classify(const KeyLengths& rule, const Tile& tile,
                  std::int64_t /*start*/) {
  const std::size_t rows = rule.per_query ? tile.queries : 1;
  const std::size_t first = rule.per_query ? tile.first_query : 0;
  std::int64_t shortest = rule.lengths(tile.b, first);
  std::int64_t longest = shortest;
  for (std::size_t n = 1; n < rows; ++n) {
    shortest = std::min(shortest, rule.lengths(tile.b, first + n));
    longest = std::max(longest, rule.lengths(tile.b, first + n));
  }
  return kind_of(last_key(tile) < shortest,
                 static_cast<std::int64_t>(tile.first_key) >= longest);
}

void restrict(const KeyLengths& rule, const Tile& tile, std::int64_t /*start*/,
              Words allowed) {
  // The number of the tile's keys that a length leaves.
  const auto left = [&](std::size_t row) {
    const std::int64_t keys =
        rule.lengths(tile.b, row) - static_cast<std::int64_t>(tile.first_key);
    return static_cast<std::size_t>(std::clamp<std::int64_t>(
        keys, 0, static_cast<std::int64_t>(tile.keys)));
  };
  if (!rule.per_query) {
    std::fill(allowed.begin() + static_cast<std::ptrdiff_t>(left(0)),
              allowed.begin() + static_cast<std::ptrdiff_t>(tile.keys), 0);
    return;
  }
  for (std::size_t n = 0; n < tile.queries; ++n) {
    const std::uint64_t keep = ~(std::uint64_t{1} << n);
    for (std::size_t k = left(tile.first_query + n); k < tile.keys; ++k) {
      allowed[k] &= keep;
    }
  }
}

// ---- Padding: the same keys for every query. ----

TileKind classify(const KeyPadding& rule, const Tile& tile,
                  std::int64_t /*start*/) {
  std::size_t attended = 0;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    attended += rule.padding(tile.b, tile.first_key + k) ? 1 : 0;
  }
  return kind_of(attended == tile.keys, attended == 0);
}

void restrict(const KeyPadding& rule, const Tile& tile, std::int64_t /*start*/,
              Words allowed) {
  for (std::size_t k = 0; k < tile.keys; ++k) {
    if (!rule.padding(tile.b, tile.first_key + k)) {
      allowed[k] = 0;
    }
  }
}

// ---- Dense: eight queries by eight keys at a time. ----

const bool* corner(const Dense& rule, const Tile& tile) {
  return rule.data +
         rule.offset(tile.b, tile.h, tile.first_query, tile.first_key);
}

// Eight queries' bits of eight keys that lie side by side: byte k of the result
// holds key k's, for bool is one byte of 0 or 1.
std::uint64_t eight_by_eight(const bool* row, std::ptrdiff_t row_stride) {
  static_assert(sizeof(bool) == 1 &&
                std::endian::native == std::endian::little);
  std::uint64_t bits = 0;
  for (int n = 0; n < 8; ++n, row += row_stride) {
    std::uint64_t keys = 0;
    std::memcpy(&keys, row, sizeof keys);
    bits |= keys << n;
  }
  return bits;
}

void restrict(const Dense& rule, const Tile& tile, std::int64_t /*start*/,
              Words allowed) {
  const bool* data = corner(rule, tile);
  const std::ptrdiff_t of_i = rule.stride_of[2];
  const std::ptrdiff_t of_j = rule.stride_of[3];
  const std::size_t whole_rows = of_j == 1 ? tile.queries / 8 * 8 : 0;
  const std::size_t whole_keys = of_j == 1 ? tile.keys / 8 * 8 : 0;
  const auto one = [&](std::size_t n, std::size_t k) {
    if (!data[static_cast<std::ptrdiff_t>(n) * of_i +
              static_cast<std::ptrdiff_t>(k) * of_j]) {
      allowed[k] &= ~(std::uint64_t{1} << n);
    }
  };
  for (std::size_t k = 0; k < whole_keys; k += 8) {
    for (std::size_t n = 0; n < whole_rows; n += 8) {
      const std::uint64_t bits =
          eight_by_eight(data + static_cast<std::ptrdiff_t>(n) * of_i +
                             static_cast<std::ptrdiff_t>(k),
                         of_i);
      for (std::size_t at = 0; at < 8; ++at) {
        const std::uint64_t masked = ~(bits >> (8 * at)) & 0xFF;
        allowed[k + at] &= ~(masked << n);
      }
    }
  }
  for (std::size_t n = 0; n < tile.queries; ++n) {
    for (std::size_t k = n < whole_rows ? whole_keys : 0; k < tile.keys; ++k) {
      one(n, k);
    }
  }
}

TileKind classify(const Dense& rule, const Tile& tile, std::int64_t start) {
  std::array<std::uint64_t, 128> words{};
  Tile part = tile;
  bool full = true;
  bool empty = true;
  const std::uint64_t all = low_bits(tile.queries);
  for (std::size_t k = 0; k < tile.keys && (full || empty); k += words.size()) {
    part.first_key = tile.first_key + k;
    part.keys = std::min(words.size(), tile.keys - k);
    std::fill_n(words.begin(), part.keys, all);
    restrict(rule, part, start, words);
    for (std::size_t at = 0; at < part.keys; ++at) {
      full = full && words[at] == all;
      empty = empty && words[at] == 0;
    }
  }
  return kind_of(full, empty);
}

// ---- Where the keys end that a range of queries may attend to. ----

struct Rows {
  std::size_t b;
  std::size_t first;
  std::size_t count;  // at least 1
};

std::int64_t visible_end(const Causal& /*rule*/, const Rows& rows,
                         std::int64_t start) {
  return static_cast<std::int64_t>(rows.first + rows.count) + start;
}

std::int64_t visible_end(const KeyLengths& rule, const Rows& rows,
                         std::int64_t /*start*/) {
  if (!rule.per_query) {
    return rule.lengths(rows.b, 0);
  }
  std::int64_t longest = 0;
  for (std::size_t n = 0; n < rows.count; ++n) {
    longest = std::max(longest, rule.lengths(rows.b, rows.first + n));
  }
  return longest;
}

template <class Rule>  // the others can hide any key
std::int64_t visible_end(const Rule& /*rule*/, const Rows& /*rows*/,
                         std::int64_t /*start*/) {
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::size_t BoundMask::visible_end(std::size_t b, std::size_t first,
                                   std::size_t queries) const {
  const std::int64_t start = query_start_.of(b, shape_);
  auto end = static_cast<std::int64_t>(shape_.Lkv);
  for (const MaskRule& rule : mask_.rules()) {
    end = std::min(
        end,
        std::visit(
            [&](const auto& r) {
              return headwise::visible_end(r, Rows{b, first, queries}, start);
            },
            rule));
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(end, 0));
}

TileKind BoundMask::classify(const Tile& tile) const {
  const std::int64_t start = query_start_.of(tile.b, shape_);
  TileKind all = TileKind::full;
  for (const MaskRule& rule : mask_.rules()) {
    const TileKind kind = std::visit(
        [&](const auto& r) { return headwise::classify(r, tile, start); },
        rule);
    if (kind == TileKind::empty) {
      return kind;
    }
    all = kind == TileKind::partial ? kind : all;
  }
  // Last, for it reads the tile's biases.
  const TileKind by_bias = bias_.given() ? classify_bias(bias_, tile) : all;
  return by_bias == TileKind::full ? all : by_bias;
}

void BoundMask::fill_words(const Tile& tile,
                           std::span<std::uint64_t> allowed) const {
  const std::int64_t start = query_start_.of(tile.b, shape_);
  std::fill_n(allowed.begin(), tile.keys, low_bits(tile.queries));
  for (const MaskRule& rule : mask_.rules()) {
    std::visit([&](const auto& r) { restrict(r, tile, start, allowed); }, rule);
  }
  if (bias_.given()) {
    restrict_by_bias(bias_, tile, allowed);
  }
}

}  // namespace headwise
