// Sums of products for a tile of queries, one query per lane. Scores, the
// weighing of values and their gradients use them. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_CHAINS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_CHAINS_INL_H_
#undef HEADWISE_KERNELS_CHAINS_INL_H_
#else
#define HEADWISE_KERNELS_CHAINS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
// Three vectors of queries times this number of broadcasts fill the registers.
constexpr std::size_t kVectors = 3;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kBroadcasts = 8;  // 32 registers
#else
constexpr std::size_t kBroadcasts = 4;  // 16 registers
#endif

// The vectors that hold a tile's queries: whole ones, and half of one more if
// the remaining queries fit in it. The lanes of its other half are not touched.
template <std::size_t kWholeVectors, bool kHalfVector>
struct TileVectors {
  static constexpr std::size_t kWhole = kWholeVectors;
  static constexpr bool kHalf = kHalfVector;
  static constexpr std::size_t kLanesHere = (kWhole + (kHalf ? 1 : 0)) * kLanes;
};

// Calls body with the tile's vectors as a type.
template <class Body>
HWY_INLINE void with_vectors(std::size_t queries, const Body& body) {
  const std::size_t vectors = (queries + kLanes - 1) / kLanes;
  if constexpr (kLanes == 16) {
    if (vectors * kLanes - queries >= kLanes / 2) {
      switch (vectors) {
        case 1:
          return body(TileVectors<0, true>());
        case 2:
          return body(TileVectors<1, true>());
        default:
          return body(TileVectors<2, true>());
      }
    }
  }
  switch (vectors) {
    case 1:
      return body(TileVectors<1, false>());
    case 2:
      return body(TileVectors<2, false>());
    default:
      return body(TileVectors<3, false>());
  }
}

// The same of `lanes` lanes, all of whole vectors: their number.
template <class Body>
HWY_INLINE void with_whole_vectors(std::size_t lanes, const Body& body) {
  static_assert(kVectors == 3);
  switch (lanes / kLanes) {
    case 1:
      return body(std::integral_constant<std::size_t, 1>());
    case 2:
      return body(std::integral_constant<std::size_t, 2>());
    default:
      return body(std::integral_constant<std::size_t, 3>());
  }
}

// A chain ends like this: -0 gives +0. What is returned for vector v of the
// queries is stored at `place`.
struct EndChain {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, std::size_t /*v*/,
                                   const float* /*place*/) const {
    return hn::Add(sum, hn::Zero(d));
  }
};

// The products in both loops: kColumns chains for each query,
//
//   to[c][query] = end(sum over i of a[i][query] * b[i * step + c * column])
//
// in the order of i. Where an element is a pair, its product is the two of its
// numbers (pairs-inl.h). With kSelect a product counts only where its query's
// bit of the number's word of `allowed` is 1. This is not a lambda inside that
// of with_vectors, because there g++ keeps the accumulators in memory.
template <class Tile, std::size_t kColumns, bool kSelect,
          class Products = FloatProducts, class End = EndChain>
HWY_INLINE void chains(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                       std::size_t step, std::size_t column, std::size_t count,
                       const MaskWord* allowed, float* HWY_RESTRICT to,
                       const End& end = End()) {
  const Lane d;
  const hn::Half<Lane> dh;
  constexpr std::size_t kWhole = Tile::kWhole;
  constexpr std::size_t kSome = kWhole == 0 ? 1 : kWhole;  // an array's size
  constexpr std::size_t kLanesHere = Tile::kLanesHere;
  constexpr std::size_t kNumbers = Products::kNumbers;
  Vector sum[kColumns][kSome];
  hn::Vec<hn::Half<Lane>> half_sum[Tile::kHalf ? kColumns : 1];
  for (auto& row : sum) {
    for (auto& s : row) {
      s = hn::Zero(d);
    }
  }
  for (auto& s : half_sum) {
    s = hn::Zero(dh);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Vector x[kSome];
    for (std::size_t v = 0; v < kWhole; ++v) {
      x[v] = hn::Load(d, a + i * kLanesHere + v * kLanes);
    }
    for (std::size_t c = 0; c < kColumns; ++c) {
      const Vector y = hn::Set(d, b[i * step + c * column]);
      for (std::size_t v = 0; v < kWhole; ++v) {
        if constexpr (kSelect) {
          sum[c][v] = Products::add_allowed(d, x[v], y, sum[c][v],
                                            allowed + i * kNumbers, v * kLanes);
        } else {
          sum[c][v] = Products::add(d, x[v], y, sum[c][v]);
        }
      }
      if constexpr (Tile::kHalf) {
        const auto last = hn::Load(dh, a + i * kLanesHere + kWhole * kLanes);
        const auto y_half = hn::Set(dh, b[i * step + c * column]);
        if constexpr (kSelect) {
          half_sum[c] =
              Products::add_allowed(dh, last, y_half, half_sum[c],
                                    allowed + i * kNumbers, kWhole * kLanes);
        } else {
          half_sum[c] = Products::add(dh, last, y_half, half_sum[c]);
        }
      }
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c, to += kLanesHere) {
    for (std::size_t v = 0; v < kWhole; ++v) {
      float* const place = to + v * kLanes;
      hn::Store(end(d, sum[c][v], v, place), d, place);
    }
    if constexpr (Tile::kHalf) {
      float* const place = to + kWhole * kLanes;
      hn::Store(end(dh, half_sum[c], kWhole, place), dh, place);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_CHAINS_INL_H_
