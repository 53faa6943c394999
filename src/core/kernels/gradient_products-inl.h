// The products of the backward pass over a tile (gradient_tile.h), over float32
// numbers or pairs of bfloat16. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_GRADIENT_PRODUCTS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_GRADIENT_PRODUCTS_INL_H_
#undef HEADWISE_KERNELS_GRADIENT_PRODUCTS_INL_H_
#else
#define HEADWISE_KERNELS_GRADIENT_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "headwise/version.h"
#include "kernels/chains-inl.h"
#include "kernels/gradient_tile.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- One query per lane. ----

// d_query += the chains of d_scores and the keys, `count` elements each of
// panels with `rows`.
template <class Products, bool kSelect>
HWY_INLINE void add_keys_of(const float* d_scores, const float* keys,
                            std::size_t rows, const MaskWord* allowed,
                            std::size_t count, std::size_t D8,
                            std::size_t queries, float* HWY_RESTRICT d_query) {
  with_vectors(queries, [&](auto vectors) HWY_ATTR {
    using Tile = decltype(vectors);
    const Lane d;
    constexpr std::size_t kStep = kBroadcasts;
    for (std::size_t c = 0; c < D8; c += kStep) {
      const float* panel =
          keys + c / kValuePanel * value_panel_size(rows) + c % kValuePanel;
      alignas(64) float block[kStep * Tile::kLanesHere];
      chains<Tile, kStep, kSelect, Products>(d_scores, panel, kValuePanel, 1,
                                             count, allowed, block);
      float* sum = d_query + c * Tile::kLanesHere;
      for (std::size_t at = 0; at < kStep * Tile::kLanesHere; at += kLanes) {
        hn::Store(hn::Add(hn::Load(d, sum + at), hn::Load(d, block + at)), d,
                  sum + at);
      }
    }
  });
}

template <class Products>
HWY_INLINE void add_keys_by(const float* d_scores, const float* keys,
                            std::size_t rows, const MaskWord* allowed,
                            std::size_t count, std::size_t D8,
                            std::size_t queries, float* d_query) {
  allowed == nullptr
      ? add_keys_of<Products, false>(d_scores, keys, rows, nullptr, count, D8,
                                     queries, d_query)
      : add_keys_of<Products, true>(d_scores, keys, rows, allowed, count, D8,
                                    queries, d_query);
}

// ---- One feature per lane. ----

// This many keys times this many vectors of features fill the registers.
constexpr std::size_t kKeysAtOnce = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kColumnVectors = 4;  // 32 registers
#else
constexpr std::size_t kColumnVectors = 2;  // 16 registers
#endif

// The gradients of a few keys in a few vectors of features: one chain over the
// queries of all parts, then added to the sums. `row_stride` is that of the
// rows and of the sums.
template <class Products, std::size_t kKeys, std::size_t kColumns, bool kSelect>
HWY_INLINE void add_queries_to(const QueryPart* parts, std::size_t count,
                               std::size_t key, const float* HWY_RESTRICT rows,
                               std::size_t row_stride,
                               float* HWY_RESTRICT sums) {
  const Lane d;
  Vector sum[kKeys][kColumns];
  for (auto& row : sum) {
    for (auto& s : row) {
      s = hn::Zero(d);
    }
  }
  for (const QueryPart* part = parts; part != parts + count; ++part) {
    const float* HWY_RESTRICT p = part->p + key * part->lanes;
    const std::size_t lanes = part->lanes;
    const std::size_t elements =
        (part->queries + Products::kNumbers - 1) / Products::kNumbers;
    for (std::size_t n = 0; n < elements; ++n, rows += row_stride) {
      Vector x[kColumns];
      for (std::size_t v = 0; v < kColumns; ++v) {
        x[v] = hn::Load(d, rows + v * kLanes);
      }
      for (std::size_t k = 0; k < kKeys; ++k) {
        const Vector y = hn::Set(d, p[k * lanes + n]);
        if constexpr (kSelect) {
          const MaskWord taken = part->taken[key + k] >> n * Products::kNumbers;
          for (std::size_t v = 0; v < kColumns; ++v) {
            sum[k][v] = Products::add_taken(d, x[v], y, sum[k][v], taken);
          }
        } else {
          for (std::size_t v = 0; v < kColumns; ++v) {
            sum[k][v] = Products::add(d, x[v], y, sum[k][v]);
          }
        }
      }
    }
  }
  for (std::size_t k = 0; k < kKeys; ++k) {
    float* to = sums + (key + k) * row_stride;
    for (std::size_t v = 0; v < kColumns; ++v) {
      hn::Store(hn::Add(hn::Load(d, to + v * kLanes), sum[k][v]), d,
                to + v * kLanes);
    }
  }
}

template <class Products, std::size_t kColumns, bool kSelect>
HWY_INLINE void add_queries_columns(const QueryPart* parts, std::size_t count,
                                    std::size_t keys, const float* rows,
                                    std::size_t size, float* sums) {
  // If two or three keys would be left, they and the last six go by fours.
  const std::size_t left = keys % kKeysAtOnce;
  const std::size_t by_sixes =
      keys - left -
      (left == 2 || left == 3 ? std::min(keys - left, kKeysAtOnce) : 0);
  std::size_t k = 0;
  for (; k < by_sixes; k += kKeysAtOnce) {
    add_queries_to<Products, kKeysAtOnce, kColumns, kSelect>(parts, count, k,
                                                             rows, size, sums);
  }
  for (; k + 4 <= keys; k += 4) {
    add_queries_to<Products, 4, kColumns, kSelect>(parts, count, k, rows, size,
                                                   sums);
  }
  for (; k < keys; ++k) {
    add_queries_to<Products, 1, kColumns, kSelect>(parts, count, k, rows, size,
                                                   sums);
  }
}

template <class Products, bool kSelect>
HWY_INLINE void add_queries_of(const QueryPart* parts, std::size_t count,
                               std::size_t keys, const float* rows,
                               std::size_t size, float* sums) {
  constexpr std::size_t kStep = kColumnVectors * kLanes;
  std::size_t c = 0;
  for (; c + kStep <= size; c += kStep) {
    add_queries_columns<Products, kColumnVectors, kSelect>(
        parts, count, keys, rows + c, size, sums + c);
  }
  for (; c < size; c += kLanes) {
    add_queries_columns<Products, 1, kSelect>(parts, count, keys, rows + c,
                                              size, sums + c);
  }
}

template <class Products>
HWY_INLINE void add_queries_by(const QueryPart* parts, std::size_t count,
                               std::size_t keys, const float* rows,
                               std::size_t size, float* sums) {
  parts->taken == nullptr
      ? add_queries_of<Products, false>(parts, count, keys, rows, size, sums)
      : add_queries_of<Products, true>(parts, count, keys, rows, size, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_GRADIENT_PRODUCTS_INL_H_
