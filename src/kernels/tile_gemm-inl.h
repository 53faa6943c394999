// The inner loops of a projection in bfloat16 (pair_gemm.h) with tiles of AMX
// (amx_tiles-inl.h). Per target: included between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE, after gemm-inl.h.
//
// Rows of x are a tile as they are, and so are 16 rows of a strip. A sum takes
// 16 pairs at a time, in order; the bias is added at its end. Nothing depends
// on the other rows and strips.
#if defined(HEADWISE_KERNELS_TILE_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_TILE_GEMM_INL_H_
#undef HEADWISE_KERNELS_TILE_GEMM_INL_H_
#else
#define HEADWISE_KERNELS_TILE_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "headwise/version.h"
#include "kernels/amx_tiles-inl.h"
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {

// Two times two tiles of sums: each tile that is loaded is multiplied twice.
constexpr std::size_t kRowTiles = 2;
constexpr std::size_t kStripTiles = 2;
constexpr std::size_t kBlockRows = kRowTiles * kTileSide;
static_assert(kTileSide == kStripFeatures);

// Tiles by number.
constexpr std::size_t sum_tile(std::size_t rows, std::size_t strip) {
  return kStripTiles * rows + strip;
}
constexpr std::size_t x_tile(std::size_t rows) { return 4 + rows; }
constexpr std::size_t strip_tile(std::size_t strip) { return 6 + strip; }

// Those of a block of `rows` tokens.
inline TileShapes block_shapes(std::size_t rows) {
  TileShapes shapes;
  for (std::size_t strip = 0; strip < kStripTiles; ++strip) {
    shapes.set(strip_tile(strip), kTileSide);
  }
  for (std::size_t r = 0; r < kRowTiles; ++r) {
    const std::size_t here = std::min(rows, kTileSide);
    rows -= here;
    shapes.set(x_tile(r), here);
    shapes.set(sum_tile(r, 0), here);
    shapes.set(sum_tile(r, 1), here);
  }
  return shapes;
}

// Where 16 pairs of a block's tokens and strips are.
struct TileReads {
  const float* x;
  std::ptrdiff_t rows_apart;
  const float* strip;
  std::size_t strips_apart;
};

template <std::size_t kRowOf, std::size_t kStripOf>
struct SumOf {
  static constexpr std::size_t kRow = kRowOf;
  static constexpr std::size_t kStrip = kStripOf;
};

// Calls body() for the tiles of sums that a block has.
template <bool kBothRows, bool kBothStrips, class Body>
HWY_INLINE void for_each_sum(const Body& body) {
  body(SumOf<0, 0>());
  if constexpr (kBothStrips) {
    body(SumOf<0, 1>());
  }
  if constexpr (kBothRows) {
    body(SumOf<1, 0>());
  }
  if constexpr (kBothRows && kBothStrips) {
    body(SumOf<1, 1>());
  }
}

template <class Tiles, bool kBothRows, bool kBothStrips>
HWY_INLINE void add_tiles(Tiles& tiles, const TileReads& from) {
  constexpr std::ptrdiff_t kApart = kStripFeatures;
  tiles.template load<x_tile(0)>(from.x, from.rows_apart);
  tiles.template load<strip_tile(0)>(from.strip, kApart);
  tiles.template multiply<sum_tile(0, 0), x_tile(0), strip_tile(0)>();
  if constexpr (kBothStrips) {
    tiles.template load<strip_tile(1)>(from.strip + from.strips_apart, kApart);
    tiles.template multiply<sum_tile(0, 1), x_tile(0), strip_tile(1)>();
  }
  if constexpr (kBothRows) {
    tiles.template load<x_tile(1)>(
        from.x + static_cast<std::ptrdiff_t>(kTileSide) * from.rows_apart,
        from.rows_apart);
    tiles.template multiply<sum_tile(1, 0), x_tile(1), strip_tile(0)>();
    if constexpr (kBothStrips) {
      tiles.template multiply<sum_tile(1, 1), x_tile(1), strip_tile(1)>();
    }
  }
}

// The last pairs, fewer than 16, followed by zeros: what lies behind a strip
// may be NaN.
template <class Tiles, bool kBothRows, bool kBothStrips>
HWY_NOINLINE void add_last_tiles(Tiles& tiles, const TileReads& from,
                                 std::size_t rows, std::size_t pairs) {
  alignas(64) float x[kBlockRows * kTileSide] = {};
  alignas(64) float strips[kStripTiles * kTileSide * kStripFeatures] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(from.x + static_cast<std::ptrdiff_t>(r) * from.rows_apart,
                pairs, x + r * kTileSide);
  }
  constexpr std::size_t kStrip = kTileSide * kStripFeatures;
  for (std::size_t s = 0; s < (kBothStrips ? 2 : 1); ++s) {
    std::copy_n(from.strip + s * from.strips_apart, pairs * kStripFeatures,
                strips + s * kStrip);
  }
  add_tiles<Tiles, kBothRows, kBothStrips>(tiles,
                                           {x, kTileSide, strips, kStrip});
}

// `rows` tokens of one or two strips.
template <class Tiles, bool kBothRows, bool kBothStrips>
HWY_NOINLINE void run_block(Tiles& tiles, const TileOf& of, std::size_t rows) {
  constexpr std::size_t kStrips = kBothStrips ? 2 : 1;
  constexpr std::size_t kColumns = kStrips * kStripFeatures;
  for_each_sum<kBothRows, kBothStrips>([&](auto sum) HWY_ATTR {
    tiles.template clear<sum_tile(sum.kRow, sum.kStrip)>();
  });
  TileReads from = {of.x[0], rows > 1 ? of.x[1] - of.x[0] : 0, of.strip,
                    of.strip_size};
  std::size_t left = of.elements;
  for (; left >= kTileSide; left -= kTileSide) {
    add_tiles<Tiles, kBothRows, kBothStrips>(tiles, from);
    from.x += kTileSide;
    from.strip += kTileSide * kStripFeatures;
  }
  if (left > 0) {
    add_last_tiles<Tiles, kBothRows, kBothStrips>(tiles, from, rows, left);
  }
  alignas(64) float sums[kBlockRows * kColumns];
  for_each_sum<kBothRows, kBothStrips>([&](auto sum) HWY_ATTR {
    tiles.template store<sum_tile(sum.kRow, sum.kStrip)>(
        sums + sum.kRow * kTileSide * kColumns + sum.kStrip * kStripFeatures,
        kColumns);
  });
  for (std::size_t r = 0; r < rows; ++r) {
    end_row<Tiles, kStrips>(of, sums + r * kColumns, of.y[r] + of.first_column);
  }
}

template <class Tiles>
void run_block_of(Tiles& tiles, const TileOf& of, std::size_t rows,
                  std::size_t strips) {
  if (rows > kTileSide) {
    return strips == 2 ? run_block<Tiles, true, true>(tiles, of, rows)
                       : run_block<Tiles, true, false>(tiles, of, rows);
  }
  return strips == 2 ? run_block<Tiles, false, true>(tiles, of, rows)
                     : run_block<Tiles, false, false>(tiles, of, rows);
}

template <class Tiles>
void multiply_tiles(const GemmRows& rows, const float* strips,
                    std::size_t in_features, std::size_t out_features) {
  Tiles tiles;
  std::size_t shaped = 0;
  TileOf of{};
  of.elements = in_features;
  of.strip_size = strip_size(in_features);
  const std::size_t count = count_strips(out_features);
  for (std::size_t strip = 0; strip < count; strip += kStripTiles) {
    const std::size_t together = std::min(kStripTiles, count - strip);
    of.bias = strips + strip * of.strip_size;
    of.strip = of.bias + kStripFeatures;
    of.first_column = strip * kStripFeatures;
    of.columns =
        std::min(together * kStripFeatures, out_features - of.first_column);
    for (std::size_t row = 0; row < rows.count; row += kBlockRows) {
      const std::size_t here = std::min(kBlockRows, rows.count - row);
      if (here != shaped) {
        tiles.set_shapes(block_shapes(here));
        shaped = here;
      }
      of.x = rows.x + row;
      of.y = rows.y + row;
      run_block_of(tiles, of, here, together);
    }
  }
}

template <class Tiles, class Products>
const Gemm* loops_of_tiles() {
  static constexpr Gemm kGemm = {multiply_tiles<Tiles>,
                                 multiply_all<Products, false>};
  return &kGemm;
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_TILE_GEMM_INL_H_
