#include "kernels/attention_tile.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                         // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/chains-inl.h"
#include "kernels/exp2-inl.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::kernels {
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
    // The rest, again as many at a time as there are.
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

template <std::size_t kVectorsHere>
HWY_INLINE void softmax_vectors(std::size_t count, float* HWY_RESTRICT scores,
                                float* HWY_RESTRICT max,
                                float* HWY_RESTRICT sum) {
  const Lane d;
  constexpr std::size_t lanes = kVectorsHere * kLanes;
  const Vector minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  Vector row_max[kVectorsHere];
  Vector row_sum[kVectorsHere];
  for (std::size_t v = 0; v < kVectorsHere; ++v) {
    row_max[v] = minus_inf;
    row_sum[v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      row_max[v] =
          hn::Max(row_max[v], hn::Load(d, scores + k * lanes + v * kLanes));
    }
  }
  Vector shift[kVectorsHere];
  for (std::size_t v = 0; v < kVectorsHere; ++v) {
    // A row without an allowed key: (-inf) - (-inf) would be NaN.
    shift[v] = hn::IfThenZeroElse(hn::Eq(row_max[v], minus_inf), row_max[v]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      float* place = scores + k * lanes + v * kLanes;
      const Vector p = exp2(d, hn::Sub(hn::Load(d, place), shift[v]));
      row_sum[v] = hn::Add(row_sum[v], p);
      hn::Store(p, d, place);
    }
  }
  for (std::size_t v = 0; v < kVectorsHere; ++v) {
    hn::Store(row_max[v], d, max + v * kLanes);
    hn::Store(row_sum[v], d, sum + v * kLanes);
  }
}

void softmax(std::size_t count, std::size_t lanes, float* scores, float* max,
             float* sum) {
  switch (lanes / kLanes) {
    case 1:
      return softmax_vectors<1>(count, scores, max, sum);
    case 2:
      return softmax_vectors<2>(count, scores, max, sum);
    default:
      return softmax_vectors<3>(count, scores, max, sum);
  }
}

// How a block's partial result joins a row's: by which factors, and whether
// one side is empty (its sum is 0), when the other is taken as it is.
struct FoldOf {
  Vector state_factor;
  Vector block_factor;
  hn::Mask<Lane> state_empty;
  hn::Mask<Lane> block_empty;
};

HWY_INLINE FoldOf fold_of(const Fold& fold, std::size_t n) {
  const Lane d;
  const Vector m = hn::Load(d, fold.block_max + n);
  const Vector M = hn::Load(d, fold.state.max + n);
  const Vector top = hn::Max(M, m);
  return {exp2(d, hn::Sub(M, top)), exp2(d, hn::Sub(m, top)),
          hn::Eq(hn::Load(d, fold.state.sum + n), hn::Zero(d)),
          hn::Eq(hn::Load(d, fold.block_sum + n), hn::Zero(d))};
}

HWY_INLINE Vector folded(const FoldOf& fold, Vector state, Vector block) {
  const Vector both =
      hn::MulAdd(block, fold.block_factor, hn::Mul(state, fold.state_factor));
  return hn::IfThenElse(fold.block_empty, state,
                        hn::IfThenElse(fold.state_empty, block, both));
}

// Stores a few columns of a block's context: folded into what stands there, or
// where nothing does yet, 0 for an empty block.
template <std::size_t kVectorsHere>
HWY_INLINE void join(const Fold& fold, const FoldOf (&folds)[kVectorsHere],
                     std::size_t columns, const float* HWY_RESTRICT block,
                     float* HWY_RESTRICT context) {
  const Lane d;
  for (std::size_t at = 0; at < columns * kVectorsHere; ++at) {
    float* place = context + at * kLanes;
    const FoldOf& by = folds[at % kVectorsHere];
    const Vector part = hn::Load(d, block + at * kLanes);
    hn::Store(fold.first ? hn::IfThenZeroElse(by.block_empty, part)
                         : folded(by, hn::Load(d, place), part),
              d, place);
  }
}

template <bool kSelect>
HWY_INLINE void weigh_any(const float* p, const float* values, std::size_t rows,
                          const MaskWord* allowed, std::size_t count,
                          std::size_t Dv8, std::size_t queries,
                          const Fold& fold, float* context) {
  with_vectors(queries, [&](auto vectors) HWY_ATTR {
    using Tile = decltype(vectors);
    constexpr std::size_t kVectorsHere = Tile::kLanesHere / kLanes;
    FoldOf folds[kVectorsHere];
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      folds[v] = fold_of(fold, v * kLanes);
    }
    constexpr std::size_t kStep = kBroadcasts;
    for (std::size_t c = 0; c < Dv8; c += kStep) {
      const float* panel =
          values + c / kValuePanel * value_panel_size(rows) + c % kValuePanel;
      alignas(64) float block[kStep * Tile::kLanesHere];
      chains<Tile, kStep, kSelect>(p, panel, kValuePanel, 1, count, allowed,
                                   block);
      join(fold, folds, kStep, block, context + c * Tile::kLanesHere);
    }
  });
}

void weigh(const float* p, const float* values, std::size_t rows,
           std::size_t count, std::size_t Dv8, std::size_t queries,
           const Fold& fold, float* context) {
  weigh_any<false>(p, values, rows, nullptr, count, Dv8, queries, fold,
                   context);
}

void weigh_allowed(const float* p, const float* values, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t Dv8,
                   std::size_t queries, const Fold& fold, float* context) {
  weigh_any<true>(p, values, rows, allowed, count, Dv8, queries, fold, context);
}

void fold(std::size_t lanes, const Fold& fold) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const FoldOf by = fold_of(fold, n);
    const Vector m = hn::Load(d, fold.block_max + n);
    const Vector M = hn::Load(d, fold.state.max + n);
    const Vector top = hn::IfThenElse(
        by.block_empty, M, hn::IfThenElse(by.state_empty, m, hn::Max(M, m)));
    hn::Store(folded(by, hn::Load(d, fold.state.sum + n),
                     hn::Load(d, fold.block_sum + n)),
              d, fold.state.sum + n);
    hn::Store(top, d, fold.state.max + n);
  }
}

const AttentionTile* tile() {
  static constexpr AttentionTile kTile = {
      kVectors * kLanes, kLanes, score,         mask,
      softmax,           weigh,  weigh_allowed, fold};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::kernels {
HWY_EXPORT(tile);
const AttentionTile& attention_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::kernels
#endif  // HWY_ONCE
