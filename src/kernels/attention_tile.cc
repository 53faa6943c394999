#include "kernels/attention_tile.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                         // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
// Three vectors of queries times so many broadcasts fill the registers.
constexpr std::size_t kVectors = 3;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kBroadcasts = 8;  // 32 registers
#else
constexpr std::size_t kBroadcasts = 4;  // 16 registers
#endif

// Calls body with the number of vectors of a tile as a constant.
template <class Body>
HWY_INLINE void with_vectors(std::size_t lanes, const Body& body) {
  switch (lanes / kLanes) {
    case 1:
      body(std::integral_constant<std::size_t, 1>());
      break;
    case 2:
      body(std::integral_constant<std::size_t, 2>());
      break;
    default:
      body(std::integral_constant<std::size_t, 3>());
      break;
  }
}

// kVectorsHere x kKeys scores: one chain over D each.
template <std::size_t kVectorsHere, std::size_t kKeys>
HWY_INLINE void score_keys(const float* HWY_RESTRICT q_t,
                           const float* HWY_RESTRICT keys,
                           std::size_t key_stride, std::size_t D,
                           float* HWY_RESTRICT scores) {
  const Lane d;
  constexpr std::size_t lanes = kVectorsHere * kLanes;
  Vector sum[kKeys][kVectorsHere];
  for (auto& row : sum) {
    for (auto& s : row) {
      s = hn::Zero(d);
    }
  }
  for (std::size_t at = 0; at < D; ++at) {
    Vector q[kVectorsHere];
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      q[v] = hn::Load(d, q_t + at * lanes + v * kLanes);
    }
    for (std::size_t k = 0; k < kKeys; ++k) {
      const Vector key = hn::Set(d, keys[k * key_stride + at]);
      for (std::size_t v = 0; v < kVectorsHere; ++v) {
        sum[k][v] = hn::MulAdd(q[v], key, sum[k][v]);
      }
    }
  }
  for (std::size_t k = 0; k < kKeys; ++k) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      // A chain that ends as -0 is +0.
      hn::Store(hn::Add(sum[k][v], hn::Zero(d)), d,
                scores + k * lanes + v * kLanes);
    }
  }
}

void score(const float* q_t, const float* keys, std::size_t key_stride,
           std::size_t count, std::size_t D, std::size_t lanes, float* scores) {
  with_vectors(lanes, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kHere = decltype(vectors)::value;
    std::size_t k = 0;
    for (; k + kBroadcasts <= count; k += kBroadcasts) {
      score_keys<kHere, kBroadcasts>(q_t, keys + k * key_stride, key_stride, D,
                                     scores + k * lanes);
    }
    // The rest, again as many at a time as there are.
    if constexpr (kBroadcasts == 8) {
      if (k + 4 <= count) {
        score_keys<kHere, 4>(q_t, keys + k * key_stride, key_stride, D,
                             scores + k * lanes);
        k += 4;
      }
    }
    if (k + 2 <= count) {
      score_keys<kHere, 2>(q_t, keys + k * key_stride, key_stride, D,
                           scores + k * lanes);
      k += 2;
    }
    if (k < count) {
      score_keys<kHere, 1>(q_t, keys + k * key_stride, key_stride, D,
                           scores + k * lanes);
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
  with_vectors(lanes, [&](auto vectors) HWY_ATTR {
    softmax_vectors<decltype(vectors)::value>(count, scores, max, sum);
  });
}

// How a block's partial result joins a row's: by which factors, and whether
// one side is empty (its sum is 0), when the other is taken as it is.
struct FoldOf {
  Vector state_factor;
  Vector block_factor;
  hn::Mask<Lane> state_empty;
  hn::Mask<Lane> block_empty;
};

HWY_INLINE FoldOf fold_of(const float* block_max, const float* block_sum,
                          const RowState& state, std::size_t n) {
  const Lane d;
  const Vector m = hn::Load(d, block_max + n);
  const Vector M = hn::Load(d, state.max + n);
  const Vector top = hn::Max(M, m);
  return {exp2(d, hn::Sub(M, top)), exp2(d, hn::Sub(m, top)),
          hn::Eq(hn::Load(d, state.sum + n), hn::Zero(d)),
          hn::Eq(hn::Load(d, block_sum + n), hn::Zero(d))};
}

HWY_INLINE Vector folded(const FoldOf& fold, Vector state, Vector block) {
  const Vector both =
      hn::MulAdd(block, fold.block_factor, hn::Mul(state, fold.state_factor));
  return hn::IfThenElse(fold.block_empty, state,
                        hn::IfThenElse(fold.state_empty, block, both));
}

// kVectorsHere x kColumns of a block's context: one chain over its keys each.
// kSelect reads a value only where it is allowed.
template <std::size_t kVectorsHere, std::size_t kColumns, bool kSelect>
HWY_INLINE void weigh_columns(const float* HWY_RESTRICT p,
                              const float* HWY_RESTRICT values,
                              const MaskWord* allowed, std::size_t count,
                              float* HWY_RESTRICT block) {
  const Lane d;
  constexpr std::size_t lanes = kVectorsHere * kLanes;
  Vector sum[kColumns][kVectorsHere];
  for (auto& row : sum) {
    for (auto& s : row) {
      s = hn::Zero(d);
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    Vector weight[kVectorsHere];
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      weight[v] = hn::Load(d, p + k * lanes + v * kLanes);
    }
    for (std::size_t c = 0; c < kColumns; ++c) {
      const Vector value = hn::Set(d, values[k * kValuePanel + c]);
      for (std::size_t v = 0; v < kVectorsHere; ++v) {
        const Vector next = hn::MulAdd(weight[v], value, sum[c][v]);
        sum[c][v] = kSelect ? hn::IfThenElse(mask_of(d, allowed[k], v * kLanes),
                                             next, sum[c][v])
                            : next;
      }
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      hn::Store(hn::Add(sum[c][v], hn::Zero(d)), d,
                block + c * lanes + v * kLanes);
    }
  }
}

template <bool kSelect>
HWY_INLINE void weigh_any(const float* p, const float* values, std::size_t rows,
                          const MaskWord* allowed, std::size_t count,
                          std::size_t Dv8, std::size_t lanes,
                          const float* block_max, const float* block_sum,
                          const RowState& state, float* context) {
  with_vectors(lanes, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kHere = decltype(vectors)::value;
    FoldOf folds[kHere];
    for (std::size_t v = 0; v < kHere; ++v) {
      folds[v] = fold_of(block_max, block_sum, state, v * kLanes);
    }
    constexpr std::size_t kStep = kBroadcasts;
    for (std::size_t c = 0; c < Dv8; c += kStep) {
      const float* panel =
          values + c / kValuePanel * rows * kValuePanel + c % kValuePanel;
      alignas(64) float block[kStep * kHere * kLanes];
      weigh_columns<kHere, kStep, kSelect>(p, panel, allowed, count, block);
      const Lane d;
      for (std::size_t at = 0; at < kStep * kHere; ++at) {
        float* place = context + c * lanes + at * kLanes;
        hn::Store(folded(folds[at % kHere], hn::Load(d, place),
                         hn::Load(d, block + at * kLanes)),
                  d, place);
      }
    }
  });
}

void weigh(const float* p, const float* values, std::size_t rows,
           std::size_t count, std::size_t Dv8, std::size_t lanes,
           const float* block_max, const float* block_sum,
           const RowState& state, float* context) {
  weigh_any<false>(p, values, rows, nullptr, count, Dv8, lanes, block_max,
                   block_sum, state, context);
}

void weigh_allowed(const float* p, const float* values, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t Dv8,
                   std::size_t lanes, const float* block_max,
                   const float* block_sum, const RowState& state,
                   float* context) {
  weigh_any<true>(p, values, rows, allowed, count, Dv8, lanes, block_max,
                  block_sum, state, context);
}

void fold(const float* block_max, const float* block_sum, std::size_t lanes,
          const RowState& state) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const FoldOf by = fold_of(block_max, block_sum, state, n);
    const Vector m = hn::Load(d, block_max + n);
    const Vector M = hn::Load(d, state.max + n);
    const Vector top = hn::IfThenElse(
        by.block_empty, M, hn::IfThenElse(by.state_empty, m, hn::Max(M, m)));
    hn::Store(
        folded(by, hn::Load(d, state.sum + n), hn::Load(d, block_sum + n)), d,
        state.sum + n);
    hn::Store(top, d, state.max + n);
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
