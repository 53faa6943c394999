// The inner loops of a projection (gemm.h), over float32 numbers or pairs of
// bfloat16. Per target: included between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE.
//
// Of pairs, an element of x and of a strip's rows is one, and `in_features`
// counts them. All functions have Products among their types, so that none is
// shared by files whose instruction sets differ (pairs-inl.h).
#if defined(HEADWISE_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_GEMM_INL_H_
#undef HEADWISE_KERNELS_GEMM_INL_H_
#else
#define HEADWISE_KERNELS_GEMM_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "headwise/version.h"
#include "kernels/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, kStripFeatures>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
constexpr std::size_t kStripVectors = kStripFeatures / kLanes;
// Six rows times four vectors of features fill 32 registers, six times two
// vectors 16.
constexpr std::size_t kTileRows = kGemmRows;
constexpr std::size_t kTileStrips = HWY_TARGET <= HWY_AVX3 ? 4 : 1;
// A single row waits for its chains; more strips give it more of them.
constexpr std::size_t kOneRowStrips = 4;
// Lines of a strip to prefetch if it is read alone; the hardware prefetches
// several strips by itself.
constexpr std::size_t kPrefetchLines = 64;
// Elements to process before the next tile of rows: those of 64 rows and of a
// tile's strips fit in the second-level cache.
constexpr std::size_t kDepth = 8 * kFeatureBlock;
// Elements of a block of input features.
template <class Products>
constexpr std::size_t kBlockElements = kFeatureBlock / Products::kNumbers;

// Where a tile reads and writes.
struct TileOf {
  const float* const* x;
  std::ptrdiff_t stride;
  std::size_t first_element;  // of x
  std::size_t elements;
  const float* bias;   // the strips' first rows
  const float* strip;  // at first_element
  std::size_t strip_size;
  float* const* y;
  std::size_t first_column;  // of y
  std::size_t columns;
  bool first;  // the sums start with this panel
  bool last;   // the sums end with this panel
};

// The chains of one block of features, added to the sums.
template <class Products, std::size_t kRows, std::size_t kStrips>
HWY_INLINE void add_block(const TileOf& of, std::size_t begin, std::size_t end,
                          float* HWY_RESTRICT sums) {
  const Lane d;
  constexpr std::size_t kVectors = kStrips * kStripVectors;
  Vector sum[kRows][kVectors];
  for (auto& row : sum) {
    for (auto& s : row) {
      s = hn::Zero(d);
    }
  }
  const float* x[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    x[r] = of.x[r] +
           static_cast<std::ptrdiff_t>(of.first_element + begin) * of.stride;
  }
  const float* HWY_RESTRICT strip = of.strip + begin * kStripFeatures;
  const std::size_t strip_size = of.strip_size;
  const std::ptrdiff_t stride = of.stride;
  std::ptrdiff_t at = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Vector w[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      w[v] = hn::Load(d, strip + v / kStripVectors * strip_size +
                             v % kStripVectors * kLanes);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector element = hn::Set(d, x[r][at]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = Products::add(d, element, w[v], sum[r][v]);
      }
    }
    if (kStrips == 1) {
      hwy::Prefetch(strip + kPrefetchLines * kStripFeatures);
    } else if (kRows == 1) {
      for (std::size_t s = 0; s < kStrips; ++s) {
        hwy::Prefetch(strip + s * strip_size + 16 * kStripFeatures);
      }
    }
    strip += kStripFeatures;
    at += stride;
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* place = sums + (r * kVectors + v) * kLanes;
      hn::Store(hn::Add(hn::Load(d, place), sum[r][v]), d, place);
    }
  }
}

// Completes a row's sums: -0 becomes +0, the bias is added, every NaN is the
// same.
template <class Products, std::size_t kVectors>
HWY_INLINE void add_bias(const TileOf& of, const float* sums, float* y) {
  const Lane d;
  const Vector nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t v = 0; v < kVectors; ++v) {
    const Vector bias =
        hn::Load(d, of.bias + v / kStripVectors * of.strip_size +
                        v % kStripVectors * kLanes);
    const Vector sum = hn::Add(hn::Load(d, sums + v * kLanes), hn::Zero(d));
    const Vector ended = hn::Add(sum, bias);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(ended), nan, ended), d, y + v * kLanes);
  }
}

// The same into y, which may have fewer columns than `row`.
template <class Products, std::size_t kStrips>
HWY_INLINE void end_row(const TileOf& of, float* row, float* y) {
  constexpr std::size_t kVectors = kStrips * kStripVectors;
  if (of.columns == kStrips * kStripFeatures) {
    add_bias<Products, kVectors>(of, row, y);
    return;
  }
  add_bias<Products, kVectors>(of, row, row);
  std::copy_n(row, of.columns, y);
}

// The sums of a tile, from +0 or from what y holds, over all blocks of `of`;
// with the bias if they end here.
template <class Products, std::size_t kRows, std::size_t kStrips>
HWY_NOINLINE void run_tile(const TileOf& of) {
  constexpr std::size_t kColumns = kStrips * kStripFeatures;
  alignas(64) float sums[kRows * kColumns];
  for (std::size_t r = 0; r < kRows; ++r) {
    float* row = sums + r * kColumns;
    // Otherwise stores that wait for their cache lines delay the next tiles.
    for (std::size_t c = 0; c < of.columns; c += kStripFeatures) {
      hwy::Prefetch(of.y[r] + of.first_column + c);
    }
    std::fill_n(row, kColumns, 0.0f);
    if (!of.first) {
      std::copy_n(of.y[r] + of.first_column, of.columns, row);
    }
  }
  constexpr std::size_t kBlock = kBlockElements<Products>;
  for (std::size_t at = 0; at < of.elements; at += kBlock) {
    add_block<Products, kRows, kStrips>(
        of, at, std::min(at + kBlock, of.elements), sums);
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float* row = sums + r * kColumns;
    float* y = of.y[r] + of.first_column;
    if (of.last) {
      end_row<Products, kStrips>(of, row, y);
    } else {
      std::copy_n(row, of.columns, y);
    }
  }
}

template <class Products, std::size_t kStrips>
void run_rows(std::size_t rows, const TileOf& of) {
  switch (rows) {
    case 1:
      return run_tile<Products, 1, kStrips>(of);
    case 2:
      return run_tile<Products, 2, kStrips>(of);
    case 3:
      return run_tile<Products, 3, kStrips>(of);
    case 4:
      return run_tile<Products, 4, kStrips>(of);
    case 5:
      return run_tile<Products, 5, kStrips>(of);
    default:
      return run_tile<Products, kTileRows, kStrips>(of);
  }
}

template <class Products>
void run_strips(std::size_t rows, std::size_t strips, const TileOf& of) {
  if (strips == 1) {
    return run_rows<Products, 1>(rows, of);
  }
  if constexpr (kTileStrips == 4) {
    switch (strips) {
      case 2:
        return run_rows<Products, 2>(rows, of);
      case 3:
        return run_rows<Products, 3>(rows, of);
      default:
        return run_rows<Products, 4>(rows, of);
    }
  }
  run_tile<Products, 1, kOneRowStrips>(of);
}

// The tiles of all rows, as even as possible: a thin tile waits for its chains.
template <class Products>
void run_panel(const GemmRows& rows, std::size_t strips, TileOf of) {
  const std::size_t tiles = (rows.count + kTileRows - 1) / kTileRows;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t begin = rows.count * tile / tiles;
    const std::size_t end = rows.count * (tile + 1) / tiles;
    of.x = rows.x + begin;
    of.y = rows.y + begin;
    run_strips<Products>(end - begin, strips, of);
  }
}

// How many of the remaining strips to process together.
template <class Products>
std::size_t strips_together(std::size_t rows, std::size_t left) {
  if (rows == 1 && kTileStrips == 1) {
    return left >= kOneRowStrips ? kOneRowStrips : 1;
  }
  return std::min(left, kTileStrips);
}

// kFromZero: the sums begin at +0 and end with the bias; else they continue
// from what y holds.
template <class Products, bool kFromZero>
void multiply_all(const GemmRows& rows, const float* strips,
                  std::size_t in_features, std::size_t out_features) {
  TileOf of{};
  of.stride = rows.stride;
  of.strip_size = strip_size(in_features);
  const std::size_t count = count_strips(out_features);
  for (std::size_t depth = 0; depth < in_features; depth += kDepth) {
    of.first_element = depth;
    of.elements = std::min(kDepth, in_features - depth);
    of.first = kFromZero && depth == 0;
    of.last = kFromZero && depth + of.elements == in_features;
    for (std::size_t strip = 0; strip < count;) {
      const std::size_t together =
          strips_together<Products>(rows.count, count - strip);
      of.bias = strips + strip * of.strip_size;
      of.strip = of.bias + (1 + depth) * kStripFeatures;
      of.first_column = strip * kStripFeatures;
      of.columns =
          std::min(together * kStripFeatures, out_features - of.first_column);
      run_panel<Products>(rows, together, of);
      strip += together;
    }
  }
}

template <class Products>
const Gemm* loops_of() {
  static constexpr Gemm kGemm = {multiply_all<Products, true>,
                                 multiply_all<Products, false>};
  return &kGemm;
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_GEMM_INL_H_
