#include "steps/booleans_tile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

using Words = std::span<std::uint64_t>;

// What `count` booleans say that are `stride` apart.
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
  return tile_kind(full, empty);
}

// The same for every query.
void restrict_keys(const bool* at, std::ptrdiff_t stride, Words allowed) {
  for (std::size_t k = 0; k < allowed.size(); ++k, at += stride) {
    allowed[k] &= *at ? ~std::uint64_t{0} : 0;
  }
}

// The bits of up to eight queries for eight keys that are next to each other:
// byte k of the result holds those of key k, for bool is one byte of 0 or 1.
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

// Eight keys that are next to each other, for `queries` rows.
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

const bool* corner(const Booleans& values, const Tile& tile) {
  return values.at(tile.b, tile.h, tile.first_query, tile.first_key);
}

}  // namespace

TileKind classify_booleans(const Booleans& values, const Tile& tile) {
  const std::ptrdiff_t of_i = values.strides[2];
  const std::ptrdiff_t of_j = values.strides[3];
  // An axis that is broadcast repeats its first element.
  const std::size_t rows = of_i == 0 ? 1 : tile.queries;
  const std::size_t keys = of_j == 0 ? 1 : tile.keys;
  const bool* row = corner(values, tile);
  const TileKind first = kind_of(row, of_j, keys);
  for (std::size_t n = 1; n < rows && first != TileKind::partial; ++n) {
    row += of_i;
    if (kind_of(row, of_j, keys) != first) {
      return TileKind::partial;
    }
  }
  return first;
}

void restrict_by_booleans(const Booleans& values, const Tile& tile,
                          Words allowed) {
  const bool* at = corner(values, tile);
  const std::ptrdiff_t of_i = values.strides[2];
  const std::ptrdiff_t of_j = values.strides[3];
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

}  // namespace headwise::internal::inline HEADWISE_ABI
