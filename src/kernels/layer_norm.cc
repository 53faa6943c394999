#include "kernels/layer_norm.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cc"  // this file, from src/
#include <hwy/foreach_target.h>                     // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headwise::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
// So many sums go on side by side, whatever a vector holds.
constexpr std::size_t kSums = 16;
constexpr std::size_t kVectors = kSums / kLanes;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The differences of the elements from `from`, or their squares, added up.
template <bool kSquared>
HWY_INLINE float sum_of_differences(const float* HWY_RESTRICT x, std::size_t E,
                                    float from) {
  const Lane d;
  const Vector all_from = hn::Set(d, from);
  Vector partial[kVectors];
  for (Vector& p : partial) {
    p = hn::Zero(d);
  }
  std::size_t e = 0;
  for (; e + kSums <= E; e += kSums) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vector by = hn::Sub(hn::LoadU(d, x + e + v * kLanes), all_from);
      partial[v] = hn::Add(partial[v], kSquared ? hn::Mul(by, by) : by);
    }
  }
  alignas(64) float sum[kSums];
  for (std::size_t v = 0; v < kVectors; ++v) {
    hn::Store(partial[v], d, sum + v * kLanes);
  }
  for (std::size_t j = 0; e + j < E; ++j) {
    const float by = x[e + j] - from;
    sum[j] += kSquared ? by * by : by;
  }
  for (std::size_t half = kSums / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      sum[j] += sum[j + half];
    }
  }
  return sum[0];
}

// Not restrict: `to` may be one of the others.
HWY_INLINE void add_elements(const float* a, const float* b, std::size_t E,
                             float* to) {
  const Lane d;
  std::size_t e = 0;
  for (; e + kLanes <= E; e += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, a + e), hn::LoadU(d, b + e)), d, to + e);
  }
  for (; e < E; ++e) {
    to[e] = a[e] + b[e];
  }
}

// y = (x - mean) * rate * weight + bias.
HWY_INLINE void normalize(const LayerNormTerms& terms, float mean, float rate,
                          const float* x, float* y) {
  const Lane d;
  const Vector means = hn::Set(d, mean);
  const Vector rates = hn::Set(d, rate);
  const Vector nan = hn::Set(d, kNaN);
  std::size_t e = 0;
  for (; e + kLanes <= terms.E; e += kLanes) {
    const Vector scaled = hn::Mul(hn::Sub(hn::LoadU(d, x + e), means), rates);
    const Vector result =
        hn::Add(hn::Mul(scaled, hn::LoadU(d, terms.weight + e)),
                hn::LoadU(d, terms.bias + e));
    hn::StoreU(hn::IfThenElse(hn::IsNaN(result), nan, result), d, y + e);
  }
  for (; e < terms.E; ++e) {
    const float result = (x[e] - mean) * rate * terms.weight[e] + terms.bias[e];
    y[e] = std::isnan(result) ? kNaN : result;
  }
}

void row(const LayerNormTerms& terms, const float* x, const float* residual,
         float* y) {
  if (residual != nullptr) {
    add_elements(x, residual, terms.E, y);
    x = y;
  }
  const auto E = static_cast<float>(terms.E);
  const float rough = sum_of_differences<false>(x, terms.E, 0) / E;
  // Without the first sum's error: equal elements are equal to their mean.
  const float mean = rough + sum_of_differences<false>(x, terms.E, rough) / E;
  const float variance = sum_of_differences<true>(x, terms.E, mean) / E;
  normalize(terms, mean, 1 / std::sqrt(variance + terms.eps), x, y);
}

const LayerNorm* loop() {
  static constexpr LayerNorm kLoop = {row};
  return &kLoop;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::kernels {
HWY_EXPORT(loop);
const LayerNorm& layer_norm() { return *HWY_DYNAMIC_DISPATCH(loop)(); }
}  // namespace headwise::kernels
#endif  // HWY_ONCE
