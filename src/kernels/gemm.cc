#include "kernels/gemm.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
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
// Input features to process before the next tile of rows: those of 64 rows and
// of a tile's strips fit in the second-level cache.
constexpr std::size_t kDepth = 8 * kFeatureBlock;

// Where a tile reads and writes.
struct TileOf {
  const float* const* x;
  std::ptrdiff_t stride;
  std::size_t first_feature;  // of x
  std::size_t features;
  const float* bias;   // the strips' first rows
  const float* strip;  // at first_feature
  std::size_t strip_size;
  float* const* y;
  std::size_t first_column;  // of y
  std::size_t columns;
  bool first;  // the sums start with this panel
  bool last;   // the sums end with this panel
};

// The chains of one block of features, added to the sums.
template <std::size_t kRows, std::size_t kStrips>
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
           static_cast<std::ptrdiff_t>(of.first_feature + begin) * of.stride;
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
      const Vector feature = hn::Set(d, x[r][at]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(feature, w[v], sum[r][v]);
      }
    }
    if (kStrips == 1) {
      hwy::Prefetch(strip + kPrefetchLines * kStripFeatures);
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
template <std::size_t kVectors>
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

// The sums of a tile, from +0 or from what y holds, over all blocks of `of`;
// with the bias if they end here.
template <std::size_t kRows, std::size_t kStrips>
HWY_NOINLINE void run_tile(const TileOf& of) {
  constexpr std::size_t kVectors = kStrips * kStripVectors;
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
  for (std::size_t at = 0; at < of.features; at += kFeatureBlock) {
    add_block<kRows, kStrips>(of, at, std::min(at + kFeatureBlock, of.features),
                              sums);
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float* row = sums + r * kColumns;
    float* y = of.y[r] + of.first_column;
    if (of.last && of.columns == kColumns) {
      add_bias<kVectors>(of, row, y);
      continue;
    }
    if (of.last) {
      add_bias<kVectors>(of, row, row);
    }
    std::copy_n(row, of.columns, y);
  }
}

template <std::size_t kStrips>
void run_rows(std::size_t rows, const TileOf& of) {
  switch (rows) {
    case 1:
      return run_tile<1, kStrips>(of);
    case 2:
      return run_tile<2, kStrips>(of);
    case 3:
      return run_tile<3, kStrips>(of);
    case 4:
      return run_tile<4, kStrips>(of);
    case 5:
      return run_tile<5, kStrips>(of);
    default:
      return run_tile<kTileRows, kStrips>(of);
  }
}

void run_strips(std::size_t rows, std::size_t strips, const TileOf& of) {
  if (strips == 1) {
    return run_rows<1>(rows, of);
  }
  if constexpr (kTileStrips == 4) {
    switch (strips) {
      case 2:
        return run_rows<2>(rows, of);
      case 3:
        return run_rows<3>(rows, of);
      default:
        return run_rows<4>(rows, of);
    }
  }
  run_tile<1, kOneRowStrips>(of);
}

// The tiles of all rows, as even as possible: a thin tile waits for its chains.
void run_panel(const GemmRows& rows, std::size_t strips, TileOf of) {
  const std::size_t tiles = (rows.count + kTileRows - 1) / kTileRows;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t begin = rows.count * tile / tiles;
    const std::size_t end = rows.count * (tile + 1) / tiles;
    of.x = rows.x + begin;
    of.y = rows.y + begin;
    run_strips(end - begin, strips, of);
  }
}

// How many of the remaining strips to process together.
std::size_t strips_together(std::size_t rows, std::size_t left) {
  if (rows == 1 && kTileStrips == 1) {
    return left >= kOneRowStrips ? kOneRowStrips : 1;
  }
  return std::min(left, kTileStrips);
}

// kFromZero: the sums begin at +0 and end with the bias; else they continue
// from what y holds.
template <bool kFromZero>
void multiply_all(const GemmRows& rows, const float* strips,
                  std::size_t in_features, std::size_t out_features) {
  TileOf of{};
  of.stride = rows.stride;
  of.strip_size = strip_size(in_features);
  const std::size_t count = count_strips(out_features);
  for (std::size_t depth = 0; depth < in_features; depth += kDepth) {
    of.first_feature = depth;
    of.features = std::min(kDepth, in_features - depth);
    of.first = kFromZero && depth == 0;
    of.last = kFromZero && depth + of.features == in_features;
    for (std::size_t strip = 0; strip < count;) {
      const std::size_t together = strips_together(rows.count, count - strip);
      of.bias = strips + strip * of.strip_size;
      of.strip = of.bias + (1 + depth) * kStripFeatures;
      of.first_column = strip * kStripFeatures;
      of.columns =
          std::min(together * kStripFeatures, out_features - of.first_column);
      run_panel(rows, together, of);
      strip += together;
    }
  }
}

const Gemm* loops() {
  static constexpr Gemm kGemm = {multiply_all<true>, multiply_all<false>};
  return &kGemm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gemm& gemm() { return *HWY_DYNAMIC_DISPATCH(loops)(); }

namespace {

// Of a whole strip; the compiler unrolls the loop over its features.
void pack_whole_strip(const float* weight, std::size_t in_features, float* to) {
  for (std::size_t i = 0; i < in_features; ++i) {
    for (std::size_t f = 0; f < kStripFeatures; ++f) {
      to[f] = weight[f * in_features + i];
    }
    to += kStripFeatures;
  }
}

void pack_last_strip(const float* weight, std::size_t in_features,
                     std::size_t features, float* to) {
  std::fill_n(to, in_features * kStripFeatures, 0.0f);
  for (std::size_t f = 0; f < features; ++f) {
    for (std::size_t i = 0; i < in_features; ++i) {
      to[i * kStripFeatures + f] = weight[f * in_features + i];
    }
  }
}

}  // namespace

void pack_strips(const float* weight, const float* bias,
                 std::size_t in_features, std::size_t out_features,
                 float* strips) {
  for (std::size_t strip = 0; strip < count_strips(out_features); ++strip) {
    const std::size_t first = strip * kStripFeatures;
    const std::size_t features = std::min(kStripFeatures, out_features - first);
    float* to = strips + strip * strip_size(in_features);
    std::fill_n(to, kStripFeatures, 0.0f);
    if (bias != nullptr) {
      std::copy_n(bias + first, features, to);
    }
    to += kStripFeatures;
    const float* const from = weight + first * in_features;
    if (features == kStripFeatures) {
      pack_whole_strip(from, in_features, to);
    } else {
      pack_last_strip(from, in_features, features, to);
    }
  }
}

void pack_transposed_strips(const float* weight, std::size_t in_features,
                            std::size_t out_features, float* strips) {
  // A strip's row is a part of a row of the weight. Several rows go to a strip
  // together, so that a page is visited less often.
  constexpr std::size_t kRows = 16;
  const std::size_t size = strip_size(out_features);
  for (std::size_t begin = 0; begin < out_features; begin += kRows) {
    const std::size_t end = std::min(begin + kRows, out_features);
    for (std::size_t strip = 0; strip < count_strips(in_features); ++strip) {
      const std::size_t first = strip * kStripFeatures;
      const std::size_t features =
          std::min(kStripFeatures, in_features - first);
      float* to = strips + strip * size + (1 + begin) * kStripFeatures;
      for (std::size_t o = begin; o < end; ++o, to += kStripFeatures) {
        const float* const from = weight + o * in_features + first;
        if (features == kStripFeatures) {
          std::copy_n(from, kStripFeatures, to);
        } else {
          std::fill_n(std::copy_n(from, features, to),
                      kStripFeatures - features, 0.0f);
        }
      }
    }
  }
  for (std::size_t strip = 0; strip < count_strips(in_features); ++strip) {
    std::fill_n(strips + strip * size, kStripFeatures, 0.0f);  // no bias
  }
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
