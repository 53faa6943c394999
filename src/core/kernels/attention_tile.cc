#include "kernels/attention_tile.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                         // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/chains-inl.h"
#include "kernels/fold-inl.h"
#include "kernels/mask_word-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/tile_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

void score(const float* q_t, const float* keys, std::size_t key_stride,
           std::size_t count, std::size_t D, std::size_t queries,
           float* scores) {
  score_all<FloatProducts>(q_t, keys, key_stride, count, D, queries, EndChain(),
                           scores);
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
  with_whole_vectors(lanes, [&](auto vectors) HWY_ATTR {
    softmax_vectors<decltype(vectors)::value>(count, scores, max, sum, watch);
  });
}

void weigh(const float* p, const float* values, std::size_t rows,
           std::size_t count, std::size_t Dv, std::size_t queries,
           const Fold& fold, float* context) {
  weigh_all<FloatProducts, false, false>(p, in_panels(values, rows), nullptr,
                                         count, Dv, queries, fold, context);
}

void weigh_allowed(const float* p, const float* values, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t Dv,
                   std::size_t queries, const Fold& fold, float* context) {
  weigh_all<FloatProducts, true, false>(p, in_panels(values, rows), allowed,
                                        count, Dv, queries, fold, context);
}

void weigh_rows(const float* p, const float* values, std::size_t stride,
                const MaskWord* allowed, std::size_t count, std::size_t Dv,
                std::size_t queries, const Fold& fold, float* context) {
  const Values rows = {values, stride, kValuePanel};
  if (allowed == nullptr) {
    weigh_all<FloatProducts, false, true>(p, rows, nullptr, count, Dv, queries,
                                          fold, context);
  } else {
    weigh_all<FloatProducts, true, true>(p, rows, allowed, count, Dv, queries,
                                         fold, context);
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
