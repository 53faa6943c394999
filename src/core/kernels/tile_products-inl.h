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
                           const End& end, float* scores) {
  chains<Tile, kKeys, false, Products>(q_t, keys, 1, key_stride, count, nullptr,
                                       scores, end);
}

// scores[k] = the chain over `elements` of q_t and keys (count, elements), rows
// `key_stride` apart.
template <class Products, class End>
HWY_INLINE void score_all(const float* q_t, const float* keys,
                          std::size_t key_stride, std::size_t count,
                          std::size_t elements, std::size_t queries,
                          const End& end, float* scores) {
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

// Ends a chain of a block's context: folded into the context so far or, if
// there is none yet, as it is (0 for an empty block).
template <class Tile>
class EndContext {
 public:
  HWY_INLINE explicit EndContext(const Fold& fold) : first_(fold.first) {
    for (std::size_t v = 0; v < Tile::kWhole; ++v) {
      whole_[v] = fold_of(Lane(), fold, v * kLanes);
    }
    if constexpr (Tile::kHalf) {
      half_ = fold_of(hn::Half<Lane>(), fold, Tile::kWhole * kLanes);
    }
  }
  HWY_INLINE Vector operator()(Lane d, Vector sum, std::size_t v,
                               const float* place) const {
    return joined(d, whole_[v], sum, place);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, std::size_t /*v*/,
                                   const float* place) const {
    return joined(d, half_, sum, place);
  }

 private:
  template <class D>
  HWY_INLINE hn::Vec<D> joined(D d, const FoldOf<D>& by, hn::Vec<D> sum,
                               const float* place) const {
    const auto part = EndChain()(d, sum, 0, place);
    return first_ ? hn::IfThenZeroElse(by.block_empty, part)
                  : folded(by, hn::Load(d, place), part);
  }

  bool first_;
  FoldOf<Lane> whole_[Tile::kWhole == 0 ? 1 : Tile::kWhole];
  FoldOf<hn::Half<Lane>> half_;
};

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
    const EndContext<Tile> end(fold);
    constexpr std::size_t kStep = kBroadcasts;
    constexpr std::size_t kMost = columns_at_once<Tile>(kRows);
    std::size_t c = 0;
    for (; kMost != kStep && c + kMost <= Dv; c += kMost) {
      chains<Tile, kMost, kSelect, Products>(
          p, values.data + c, values.step, 1, count, allowed,
          context + c * Tile::kLanesHere, end);
    }
    const auto panel = [&](std::size_t column) {
      return values.data + column / kValuePanel * values.panel +
             column % kValuePanel;
    };
    // A last column alone costs less than a step of unused ones.
    for (; c + 1 < Dv; c += kStep) {
      chains<Tile, kStep, kSelect, Products>(
          p, panel(c), values.step, 1, count, allowed,
          context + c * Tile::kLanesHere, end);
    }
    if (c < Dv) {
      chains<Tile, 1, kSelect, Products>(p, panel(c), values.step, 1, count,
                                         allowed,
                                         context + c * Tile::kLanesHere, end);
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
