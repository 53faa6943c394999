#include "kernels/attention_tile.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                         // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/chains-inl.h"
#include "kernels/fold-inl.h"
#include "kernels/mask_word-inl.h"
#include "kernels/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class Tile, std::size_t kKeys>
HWY_INLINE void score_keys(const float* q_t, const float* keys,
                           std::size_t key_stride, std::size_t D,
                           float* scores) {
  chains<Tile, kKeys, false>(q_t, keys, 1, key_stride, D, nullptr, scores);
}

void score(const float* q_t, const float* keys, std::size_t key_stride,
           std::size_t count, std::size_t D, std::size_t queries,
           float* scores) {
  with_vectors(queries, [&](auto vectors) HWY_ATTR {
    using Tile = decltype(vectors);
    std::size_t k = 0;
    for (; k + kBroadcasts <= count; k += kBroadcasts) {
      score_keys<Tile, kBroadcasts>(q_t, keys + k * key_stride, key_stride, D,
                                    scores + k * Tile::kLanesHere);
    }
    // The rest, as many at a time as possible.
    if (k + 4 <= count) {
      score_keys<Tile, 4>(q_t, keys + k * key_stride, key_stride, D,
                          scores + k * Tile::kLanesHere);
      k += 4;
    }
    if (k + 2 <= count) {
      score_keys<Tile, 2>(q_t, keys + k * key_stride, key_stride, D,
                          scores + k * Tile::kLanesHere);
      k += 2;
    }
    if (k < count) {
      score_keys<Tile, 1>(q_t, keys + k * key_stride, key_stride, D,
                          scores + k * Tile::kLanesHere);
    }
  });
}

void mask(const MaskWord* allowed, std::size_t count, std::size_t lanes,
          float* scores) {
  const Lane d;
  const Vector minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t n = 0; n < lanes; n += kLanes) {
      float* place = scores + k * lanes + n;
      hn::Store(hn::IfThenElse(mask_of(d, allowed[k], n), hn::Load(d, place),
                               minus_inf),
                d, place);
    }
  }
}

struct WatchNothing {
  HWY_INLINE void operator()(std::size_t, std::size_t, Vector, Vector,
                             Vector) const {}
};

void softmax(std::size_t count, std::size_t lanes, float* scores, float* max,
             float* sum) {
  const WatchNothing watch;
  switch (lanes / kLanes) {
    case 1:
      return softmax_vectors<1>(count, scores, max, sum, watch);
    case 2:
      return softmax_vectors<2>(count, scores, max, sum, watch);
    default:
      return softmax_vectors<3>(count, scores, max, sum, watch);
  }
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

template <bool kSelect, bool kRows>
HWY_INLINE void weigh_any(const float* p, const Values& values,
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
      chains<Tile, kMost, kSelect>(p, values.data + c, values.step, 1, count,
                                   allowed, block);
      join(fold, folds, kMost, block, context + c * Tile::kLanesHere);
    }
    const auto panel = [&](std::size_t column) {
      return values.data + column / kValuePanel * values.panel +
             column % kValuePanel;
    };
    // A last column alone costs less than a step of unused ones.
    for (; c + 1 < Dv; c += kStep) {
      chains<Tile, kStep, kSelect>(p, panel(c), values.step, 1, count, allowed,
                                   block);
      join(fold, folds, kStep, block, context + c * Tile::kLanesHere);
    }
    if (c < Dv) {
      chains<Tile, 1, kSelect>(p, panel(c), values.step, 1, count, allowed,
                               block);
      join(fold, folds, 1, block, context + c * Tile::kLanesHere);
    }
  });
}

Values in_panels(const float* values, std::size_t rows) {
  return {values, kValuePanel, value_panel_size(rows)};
}

void weigh(const float* p, const float* values, std::size_t rows,
           std::size_t count, std::size_t Dv, std::size_t queries,
           const Fold& fold, float* context) {
  weigh_any<false, false>(p, in_panels(values, rows), nullptr, count, Dv,
                          queries, fold, context);
}

void weigh_allowed(const float* p, const float* values, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t Dv,
                   std::size_t queries, const Fold& fold, float* context) {
  weigh_any<true, false>(p, in_panels(values, rows), allowed, count, Dv,
                         queries, fold, context);
}

void weigh_rows(const float* p, const float* values, std::size_t stride,
                const MaskWord* allowed, std::size_t count, std::size_t Dv,
                std::size_t queries, const Fold& fold, float* context) {
  const Values rows = {values, stride, kValuePanel};
  if (allowed == nullptr) {
    weigh_any<false, true>(p, rows, nullptr, count, Dv, queries, fold, context);
  } else {
    weigh_any<true, true>(p, rows, allowed, count, Dv, queries, fold, context);
  }
}

void fold(std::size_t lanes, const Fold& fold) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const FoldOf<Lane> by = fold_of(d, fold, n);
    const Vector top = folded_max(d, by, fold, n);
    hn::Store(folded(by, hn::Load(d, fold.state.sum + n),
                     hn::Load(d, fold.block_sum + n)),
              d, fold.state.sum + n);
    hn::Store(top, d, fold.state.max + n);
  }
}

const AttentionTile* tile() {
  static constexpr AttentionTile kTile = {
      kVectors * kLanes, kLanes,     score, mask, softmax, weigh,
      weigh_allowed,     weigh_rows, fold};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const AttentionTile& attention_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
