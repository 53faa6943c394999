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

// scores -> p = exp2(s - max), in place; the block's max and sum. `watch` is
// called for each vector: watch(k, v, s, s - max, p).
template <std::size_t kVectorsHere, class Watch>
HWY_INLINE void softmax_vectors(std::size_t count, float* HWY_RESTRICT scores,
                                float* HWY_RESTRICT max,
                                float* HWY_RESTRICT sum, Watch& watch) {
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
      const Vector s = hn::Load(d, place);
      const Vector shifted = hn::Sub(s, shift[v]);
      const Vector p = exp2(d, shifted);
      row_sum[v] = hn::Add(row_sum[v], p);
      hn::Store(p, d, place);
      watch(k, v, s, shifted, p);
    }
  }
  for (std::size_t v = 0; v < kVectorsHere; ++v) {
    hn::Store(row_max[v], d, max + v * kLanes);
    hn::Store(row_sum[v], d, sum + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_SOFTMAX_INL_H_
