// The softmax over one block of keys, one query per lane. Per target: included
// between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_SOFTMAX_INL_H_
#undef HEADWISE_KERNELS_SOFTMAX_INL_H_
#else
#define HEADWISE_KERNELS_SOFTMAX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "headwise/version.h"
#include "kernels/chains-inl.h"
#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The rows of a block: their max, what their scores are shifted by, and the sum
// of their p so far.
template <std::size_t kVectorsHere>
struct BlockRows {
  static constexpr std::size_t kLanesHere = kVectorsHere * kLanes;

  HWY_INLINE BlockRows(std::size_t count, const float* scores) {
    const Lane d;
    const Vector minus_inf =
        hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      max[v] = minus_inf;
      sum[v] = hn::Zero(d);
    }
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t v = 0; v < kVectorsHere; ++v) {
        max[v] =
            hn::Max(max[v], hn::Load(d, scores + k * kLanesHere + v * kLanes));
      }
    }
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      // A row without an allowed key: (-inf) - (-inf) would be NaN.
      shift[v] = hn::IfThenZeroElse(hn::Eq(max[v], minus_inf), max[v]);
    }
  }
  // p = exp2(s - max), added to the sum.
  HWY_INLINE Vector take(std::size_t v, Vector shifted) {
    const Vector p = exp2(Lane(), shifted);
    sum[v] = hn::Add(sum[v], p);
    return p;
  }
  HWY_INLINE void store(float* HWY_RESTRICT maxima,
                        float* HWY_RESTRICT sums) const {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      hn::Store(max[v], Lane(), maxima + v * kLanes);
      hn::Store(sum[v], Lane(), sums + v * kLanes);
    }
  }

  Vector max[kVectorsHere];
  Vector shift[kVectorsHere];
  Vector sum[kVectorsHere];
};

// scores -> p, in place; the block's max and sum. `watch` is called for each
// vector: watch(k, v, s, s - max, p).
template <std::size_t kVectorsHere, class Watch>
HWY_INLINE void softmax_vectors(std::size_t count, float* HWY_RESTRICT scores,
                                float* HWY_RESTRICT max,
                                float* HWY_RESTRICT sum, Watch& watch) {
  const Lane d;
  BlockRows<kVectorsHere> rows(count, scores);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      float* place = scores + k * rows.kLanesHere + v * kLanes;
      const Vector s = hn::Load(d, place);
      const Vector shifted = hn::Sub(s, rows.shift[v]);
      const Vector p = rows.take(v, shifted);
      hn::Store(p, d, place);
      watch(k, v, s, shifted, p);
    }
  }
  rows.store(max, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_SOFTMAX_INL_H_
