// The masks by tile: what lets a kernel skip empty tiles and not test full
// ones. may_attend() in mask.cc is what these must agree with
// (MaskTileTest holds it for every mask and every pair of masks).
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

#include "headwise/steps/mask.h"
#include "steps/bias_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using mask_rule::Causal;
using mask_rule::Dense;
using mask_rule::Documents;
using mask_rule::KeyLengths;
using mask_rule::KeyPadding;
using mask_rule::KeyStarts;
using mask_rule::Window;
using Words = std::span<std::uint64_t>;

constexpr std::size_t kTileKeys = 128;

// The first `count` bits.
constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

TileKind kind_of(bool full, bool empty) {
  return full ? TileKind::full : empty ? TileKind::empty : TileKind::partial;
}

// Queries of a sequence, at least one; query 0 stands at `start`.
struct Rows {
  std::size_t b;
  std::size_t first;
  std::size_t count;
  std::int64_t start;

  std::int64_t position(std::size_t n) const {
    return static_cast<std::int64_t>(first + n) + start;
  }
};

Rows rows_of(const Tile& tile, std::int64_t start) {
  return {tile.b, tile.first_query, tile.queries, start};
}

// ---- Most rules let a query see one interval of the keys. ----

// Keys [begin, end), which may reach beyond those there are.
struct Interval {
  std::int64_t begin;
  std::int64_t end;
};
constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kBeyond = std::numeric_limits<std::int64_t>::max();

Interval keys_of(const Tile& tile) {
  return {static_cast<std::int64_t>(tile.first_key),
          static_cast<std::int64_t>(tile.first_key + tile.keys)};
}

// What query n of `rows` sees of the keys `within`.
Interval seen(const Causal& /*rule*/, const Rows& rows, std::size_t n,
              const Interval& /*within*/) {
  return {kBefore, rows.position(n) + 1};
}

Interval seen(const Window& rule, const Rows& rows, std::size_t n,
              const Interval& /*within*/) {
  // A side whose end no number can hold has no end.
  const std::int64_t p = rows.position(n);
  const bool begins = rule.left && p >= kBefore + *rule.left;
  const bool ends = rule.right && p < kBeyond - *rule.right;
  return {begins ? p - *rule.left : kBefore,
          ends ? p + *rule.right + 1 : kBeyond};
}

Interval seen(const KeyLengths& rule, const Rows& rows, std::size_t n,
              const Interval& /*within*/) {
  return {kBefore, rule.lengths(rows.b, rule.per_query ? rows.first + n : 0)};
}

Interval seen(const KeyStarts& rule, const Rows& rows, std::size_t /*n*/,
              const Interval& /*within*/) {
  return {rule.starts(rows.b), kBeyond};
}

Interval seen(const Documents& rule, const Rows& rows, std::size_t n,
              const Interval& within) {
  const std::size_t row = rule.shared ? 0 : rows.b;
  const std::int64_t id = rule.query_ids(row, rows.first + n);
  // The first key from `from` on that `reaches` the id, by bisection.
  const auto first_key = [&](std::int64_t from, auto reaches) {
    std::int64_t end = within.end;
    while (from < end) {
      const std::int64_t middle = from + (end - from) / 2;
      if (reaches(rule.key_ids(row, static_cast<std::size_t>(middle)))) {
        end = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  };
  const std::int64_t begin =
      first_key(within.begin, [&](std::int64_t key) { return key >= id; });
  return {begin, first_key(begin, [&](std::int64_t key) { return key > id; })};
}

template <class Rule>
concept IntervalRule = requires(const Rule& rule, const Rows& rows,
                                const Interval& within) {
  seen(rule, rows, std::size_t{}, within);
};

// Whether query n sees the same keys as query n - 1.
template <IntervalRule Rule>
bool sees_the_same(const Rule& /*rule*/, const Rows& /*rows*/,
                   std::size_t /*n*/) {
  return false;
}
bool sees_the_same(const KeyLengths& rule, const Rows& /*rows*/,
                   std::size_t /*n*/) {
  return !rule.per_query;
}
bool sees_the_same(const KeyStarts& /*rule*/, const Rows& /*rows*/,
                   std::size_t /*n*/) {
  return true;
}
bool sees_the_same(const Documents& rule, const Rows& rows, std::size_t n) {
  const std::size_t row = rule.shared ? 0 : rows.b;
  return rule.query_ids(row, rows.first + n) ==
         rule.query_ids(row, rows.first + n - 1);
}

// Whether the intervals never move back from one query to the next.
template <IntervalRule Rule>
bool moves_on(const Rule& /*rule*/) {
  return true;
}
bool moves_on(const KeyLengths& rule) { return !rule.per_query; }

struct Seen {
  Interval by_some;   // nobody sees a key outside it
  Interval by_every;  // everybody sees the keys in it
};

template <IntervalRule Rule>
Seen seen_by(const Rule& rule, const Rows& rows, const Interval& within) {
  const Interval first = seen(rule, rows, 0, within);
  Seen all{first, first};
  // Of intervals that move on, the first and the last say all.
  for (std::size_t n = moves_on(rule) ? std::max<std::size_t>(rows.count, 2) - 1
                                      : 1;
       n < rows.count; ++n) {
    const Interval keys = seen(rule, rows, n, within);
    all.by_some = {std::min(all.by_some.begin, keys.begin),
                   std::max(all.by_some.end, keys.end)};
    all.by_every = {std::max(all.by_every.begin, keys.begin),
                    std::min(all.by_every.end, keys.end)};
  }
  return all;
}

template <IntervalRule Rule>
TileKind classify(const Rule& rule, const Tile& tile, std::int64_t start) {
  const Interval keys = keys_of(tile);
  const auto [by_some, by_every] = seen_by(rule, rows_of(tile, start), keys);
  return kind_of(
      by_every.begin <= keys.begin && by_every.end >= keys.end,
      std::max(by_some.begin, keys.begin) >= std::min(by_some.end, keys.end));
}

template <IntervalRule Rule>
void restrict(const Rule& rule, const Tile& tile, std::int64_t start,
              Words allowed) {
  const Rows rows = rows_of(tile, start);
  const Interval keys = keys_of(tile);
  // Bit n is set where query n's interval begins and where it ends.
  std::array<std::uint64_t, kTileKeys + 1> turns{};
  const auto turn = [&](std::int64_t at, std::uint64_t queries) {
    turns[static_cast<std::size_t>(std::clamp(at, keys.begin, keys.end) -
                                   keys.begin)] ^= queries;
  };
  std::size_t next = 0;
  for (std::size_t n = 0; n < rows.count; n = next) {
    for (next = n + 1; next < rows.count && sees_the_same(rule, rows, next);) {
      ++next;
    }
    const std::uint64_t queries = low_bits(next) & ~low_bits(n);
    const auto [begin, end] = seen(rule, rows, n, keys);
    turn(begin, queries);
    turn(end, queries);
  }
  std::uint64_t inside = 0;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    inside ^= turns[k];
    allowed[k] &= inside;
  }
}

// ---- Booleans that lie in memory: padding and dense masks. ----

// What `count` booleans say that stand `stride` apart.
TileKind kind_of(const bool* at, std::ptrdiff_t stride, std::size_t count) {
  constexpr std::uint64_t kAll = 0x0101010101010101;
  std::uint64_t every = kAll;
  std::uint64_t some = 0;
  std::size_t k = 0;
  for (; stride == 1 && k + 8 <= count; k += 8, at += 8) {
    std::uint64_t eight = 0;  // bool is one byte of 0 or 1
    std::memcpy(&eight, at, sizeof eight);
    every &= eight;
    some |= eight;
  }
  bool full = every == kAll;
  bool empty = some == 0;
  for (; k < count; ++k, at += stride) {
    full = full && *at;
    empty = empty && !*at;
  }
  return kind_of(full, empty);
}

// The same for every query.
void restrict_keys(const bool* at, std::ptrdiff_t stride, Words allowed) {
  for (std::size_t k = 0; k < allowed.size(); ++k, at += stride) {
    allowed[k] &= *at ? ~std::uint64_t{0} : 0;
  }
}

TileKind classify(const KeyPadding& rule, const Tile& tile,
                  std::int64_t /*start*/) {
  return kind_of(&rule.padding(tile.b, tile.first_key), rule.padding.stride(1),
                 tile.keys);
}

void restrict(const KeyPadding& rule, const Tile& tile, std::int64_t /*start*/,
              Words allowed) {
  restrict_keys(&rule.padding(tile.b, tile.first_key), rule.padding.stride(1),
                allowed.first(tile.keys));
}

const bool* corner(const Dense& rule, const Tile& tile) {
  return rule.data +
         rule.offset(tile.b, tile.h, tile.first_query, tile.first_key);
}

TileKind classify(const Dense& rule, const Tile& tile, std::int64_t /*start*/) {
  const std::ptrdiff_t of_i = rule.stride_of[2];
  const std::ptrdiff_t of_j = rule.stride_of[3];
  // An axis that is broadcast repeats its first element.
  const std::size_t rows = of_i == 0 ? 1 : tile.queries;
  const std::size_t keys = of_j == 0 ? 1 : tile.keys;
  const bool* row = corner(rule, tile);
  const TileKind first = kind_of(row, of_j, keys);
  for (std::size_t n = 1; n < rows && first != TileKind::partial; ++n) {
    row += of_i;
    if (kind_of(row, of_j, keys) != first) {
      return TileKind::partial;
    }
  }
  return first;
}

// The bits of up to eight queries for eight keys that lie side by side: byte k
// of the result holds key k's, for bool is one byte of 0 or 1.
std::uint64_t eight_by_eight(const bool* row, std::ptrdiff_t row_stride,
                             std::size_t rows) {
  static_assert(sizeof(bool) == 1 &&
                std::endian::native == std::endian::little);
  std::uint64_t bits = 0;
  for (std::size_t n = 0; n < rows; ++n, row += row_stride) {
    std::uint64_t keys = 0;
    std::memcpy(&keys, row, sizeof keys);
    bits |= keys << n;
  }
  return bits;
}

// Eight keys that lie side by side, for `queries` rows.
void restrict_eight_keys(const bool* row, std::ptrdiff_t row_stride,
                         std::size_t queries, Words allowed) {
  std::array<std::uint64_t, 8> sees{};
  for (std::size_t n = 0; n < queries; n += 8, row += 8 * row_stride) {
    const std::uint64_t bits =
        eight_by_eight(row, row_stride, std::min<std::size_t>(queries - n, 8));
    for (std::size_t k = 0; k < 8; ++k) {
      sees[k] |= (bits >> (8 * k) & 0xFF) << n;
    }
  }
  for (std::size_t k = 0; k < 8; ++k) {
    allowed[k] &= sees[k];
  }
}

void restrict(const Dense& rule, const Tile& tile, std::int64_t /*start*/,
              Words allowed) {
  const bool* at = corner(rule, tile);
  const std::ptrdiff_t of_i = rule.stride_of[2];
  const std::ptrdiff_t of_j = rule.stride_of[3];
  if (of_i == 0) {
    restrict_keys(at, of_j, allowed.first(tile.keys));
    return;
  }
  std::size_t k = 0;
  for (; of_j == 1 && k + 8 <= tile.keys; k += 8, at += 8) {
    restrict_eight_keys(at, of_i, tile.queries, allowed.subspan(k, 8));
  }
  for (; k < tile.keys; ++k, at += of_j) {
    for (std::size_t n = 0; n < tile.queries; ++n) {
      if (!at[static_cast<std::ptrdiff_t>(n) * of_i]) {
        allowed[k] &= ~(std::uint64_t{1} << n);
      }
    }
  }
}

// ---- Where the keys begin and end that a range of queries may attend to. ----

template <IntervalRule Rule>
Interval visible(const Rule& rule, const Rows& rows, const Interval& keys) {
  return seen_by(rule, rows, keys).by_some;
}

template <class Rule>  // the others can hide any key
Interval visible(const Rule& /*rule*/, const Rows& /*rows*/,
                 const Interval& keys) {
  return keys;
}

Interval visible(const std::vector<MaskRule>& rules, const Rows& rows,
                 std::size_t Lkv) {
  const Interval keys{0, static_cast<std::int64_t>(Lkv)};
  Interval all = keys;
  for (const MaskRule& rule : rules) {
    const auto [begin, end] =
        std::visit([&](const auto& r) { return visible(r, rows, keys); }, rule);
    all = {std::max(all.begin, begin), std::min(all.end, end)};
  }
  return {std::min(all.begin, keys.end), std::max(all.end, keys.begin)};
}

}  // namespace

std::size_t BoundMask::first_key(std::size_t b) const {
  std::int64_t first = 0;
  for (const MaskRule& rule : mask_.rules()) {
    if (const auto* starts = std::get_if<KeyStarts>(&rule)) {
      first = std::max(first, starts->starts(b));
    }
  }
  return static_cast<std::size_t>(first);
}

std::size_t BoundMask::visible_begin(std::size_t b, std::size_t first,
                                     std::size_t queries) const {
  const Rows rows{b, first, queries, context_.first_position(b)};
  return static_cast<std::size_t>(
      visible(mask_.rules(), rows, context_.shape.Lkv).begin);
}

std::size_t BoundMask::visible_end(std::size_t b, std::size_t first,
                                   std::size_t queries) const {
  const Rows rows{b, first, queries, context_.first_position(b)};
  return static_cast<std::size_t>(
      visible(mask_.rules(), rows, context_.shape.Lkv).end);
}

TileKind BoundMask::classify(const Tile& tile) const {
  const std::int64_t start = context_.first_position(tile.b);
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
  assert(tile.queries <= 64 && tile.keys <= kTileKeys);
  const std::int64_t start = context_.first_position(tile.b);
  std::fill_n(allowed.begin(), tile.keys, low_bits(tile.queries));
  for (const MaskRule& rule : mask_.rules()) {
    std::visit([&](const auto& r) { restrict(r, tile, start, allowed); }, rule);
  }
  if (bias_.given()) {
    restrict_by_bias(bias_, tile, allowed);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
