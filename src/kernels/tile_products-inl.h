// The products of attention over a tile (attention_tile.h), over float32
// numbers or pairs of bfloat16. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_TILE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_TILE_PRODUCTS_INL_H_
#undef HEADWISE_KERNELS_TILE_PRODUCTS_INL_H_
#else
#define HEADWISE_KERNELS_TILE_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/chains-inl.h"
#include "kernels/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Products, class Tile, std::size_t kKeys, class End>
HWY_INLINE void score_keys(const float* q_t, const float* keys,
                           std::size_t key_stride, std::size_t count,
                           const End end, float* scores) {
  chains<Tile, kKeys, false, Products>(q_t, keys, 1, key_stride, count, nullptr,
                                       scores, end);
}

// scores[k] = the chain over `elements` of q_t and keys (count, elements), rows
// `key_stride` apart.
template <class Products, class End>
HWY_INLINE void score_all(const float* q_t, const float* keys,
                          std::size_t key_stride, std::size_t count,
                          std::size_t elements, std::size_t queries,
                          const End end, float* scores) {
  with_vectors(queries, [&](auto vectors) HWY_ATTR {
    using Tile = decltype(vectors);
    std::size_t k = 0;
    for (; k + kBroadcasts <= count; k += kBroadcasts) {
      score_keys<Products, Tile, kBroadcasts>(q_t, keys + k * key_stride,
                                              key_stride, elements, end,
                                              scores + k * Tile::kLanesHere);
    }
    // The rest, as many at a time as possible.
    if (k + 4 <= count) {
      score_keys<Products, Tile, 4>(q_t, keys + k * key_stride, key_stride,
                                    elements, end,
                                    scores + k * Tile::kLanesHere);
      k += 4;
    }
    if (k + 2 <= count) {
      score_keys<Products, Tile, 2>(q_t, keys + k * key_stride, key_stride,
                                    elements, end,
                                    scores + k * Tile::kLanesHere);
      k += 2;
    }
    if (k < count) {
      score_keys<Products, Tile, 1>(q_t, keys + k * key_stride, key_stride,
                                    elements, end,
                                    scores + k * Tile::kLanesHere);
    }
  });
}

// Stores a few columns of a block's context: folded into the context so far or,
// if there is none yet, as they are (0 for an empty block).
template <std::size_t kVectorsHere>
HWY_INLINE void join(const Fold& fold,
                     const FoldOf<Lane> (&folds)[kVectorsHere],
                     std::size_t columns, const float* HWY_RESTRICT block,
                     float* HWY_RESTRICT context) {
  const Lane d;
  for (std::size_t at = 0; at < columns * kVectorsHere; ++at) {
    float* place = context + at * kLanes;
    const FoldOf<Lane>& by = folds[at % kVectorsHere];
    const Vector part = hn::Load(d, block + at * kLanes);
    hn::Store(fold.first ? hn::IfThenZeroElse(by.block_empty, part)
                         : folded(by, hn::Load(d, place), part),
              d, place);
  }
}

// Where the values of a block are: those of one feature `step` apart, 8
// features side by side, then the next 8 `panel` further on.
struct Values {
  const float* data;
  std::size_t step;
  std::size_t panel;
};

// Columns that are weighed at once. A single vector of queries leaves registers
// for a whole line of values that are rows.
template <class Tile>
constexpr std::size_t columns_at_once(bool rows) {
  return rows && kBroadcasts == 8 && Tile::kLanesHere == kLanes
             ? 2 * kBroadcasts
             : kBroadcasts;
}

// context = the state folded with the chains of p and the values; `count`
// elements each.
template <class Products, bool kSelect, bool kRows>
HWY_INLINE void weigh_all(const float* p, const Values& values,
                          const MaskWord* allowed, std::size_t count,
                          std::size_t Dv, std::size_t queries, const Fold& fold,
                          float* context) {
  with_vectors(queries, [&](auto vectors) HWY_ATTR {
    using Tile = decltype(vectors);
    constexpr std::size_t kVectorsHere = Tile::kLanesHere / kLanes;
    FoldOf<Lane> folds[kVectorsHere];
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      folds[v] = fold_of(Lane(), fold, v * kLanes);
    }
    constexpr std::size_t kStep = kBroadcasts;
    constexpr std::size_t kMost = columns_at_once<Tile>(kRows);
    alignas(64) float block[kMost * Tile::kLanesHere];
    std::size_t c = 0;
    for (; kMost != kStep && c + kMost <= Dv; c += kMost) {
      chains<Tile, kMost, kSelect, Products>(p, values.data + c, values.step, 1,
                                             count, allowed, block);
      join(fold, folds, kMost, block, context + c * Tile::kLanesHere);
    }
    const auto panel = [&](std::size_t column) {
      return values.data + column / kValuePanel * values.panel +
             column % kValuePanel;
    };
    // A last column alone costs less than a step of unused ones.
    for (; c + 1 < Dv; c += kStep) {
      chains<Tile, kStep, kSelect, Products>(p, panel(c), values.step, 1, count,
                                             allowed, block);
      join(fold, folds, kStep, block, context + c * Tile::kLanesHere);
    }
    if (c < Dv) {
      chains<Tile, 1, kSelect, Products>(p, panel(c), values.step, 1, count,
                                         allowed, block);
      join(fold, folds, 1, block, context + c * Tile::kLanesHere);
    }
  });
}

HWY_INLINE Values in_panels(const float* values, std::size_t rows) {
  return {values, kValuePanel, value_panel_size(rows)};
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_TILE_PRODUCTS_INL_H_
