#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cc"  // this file, from src/
#include <hwy/foreach_target.h>                     // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using OneLane = hn::CappedTag<float, 1>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
// The number of parallel sums, whatever the vector width.
constexpr std::size_t kSums = 16;
constexpr std::size_t kVectors = kSums / kLanes;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The sum of all E terms: term(d, e) returns those from e on, one per lane of
// d.
template <class Term>
HWY_INLINE float row_sum(std::size_t E, const Term& term) {
  const Lane d;
  const OneLane one;
  Vector partial[kVectors];
  for (Vector& p : partial) {
    p = hn::Zero(d);
  }
  std::size_t e = 0;
  for (; e + kSums <= E; e += kSums) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      partial[v] = hn::Add(partial[v], term(d, e + v * kLanes));
    }
  }
  alignas(64) float sum[kSums];
  for (std::size_t v = 0; v < kVectors; ++v) {
    hn::Store(partial[v], d, sum + v * kLanes);
  }
  for (std::size_t j = 0; e + j < E; ++j) {
    sum[j] += hn::GetLane(term(one, e + j));
  }
  for (std::size_t half = kSums / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      sum[j] += sum[j + half];
    }
  }
  return sum[0];
}

// The differences of the elements from `from`, or their squares.
template <bool kSquared>
struct Differences {
  const float* HWY_RESTRICT x;
  float from;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t e) const {
    const auto by = hn::Sub(hn::LoadU(d, x + e), hn::Set(d, from));
    return kSquared ? hn::Mul(by, by) : by;
  }
};

struct Moments {
  float mean;
  float rate;  // 1 / the standard deviation
};

HWY_INLINE Moments moments_of(const float* x, const LayerNormTerms& terms) {
  const auto E = static_cast<float>(terms.E);
  if (!terms.centred) {
    const float square = row_sum(terms.E, Differences<true>{x, 0}) / E;
    return {0, 1 / std::sqrt(square + terms.eps)};
  }
  const float rough = row_sum(terms.E, Differences<false>{x, 0}) / E;
  // Removes the first sum's error: equal elements are equal to their mean.
  const float mean = rough + row_sum(terms.E, Differences<false>{x, rough}) / E;
  const float variance = row_sum(terms.E, Differences<true>{x, mean}) / E;
  return {mean, 1 / std::sqrt(variance + terms.eps)};
}

// Not restrict: `to` may be one of the inputs.
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
HWY_INLINE void normalize(const LayerNormTerms& terms, const Moments& of,
                          const float* x, float* y) {
  const Lane d;
  const Vector means = hn::Set(d, of.mean);
  const Vector rates = hn::Set(d, of.rate);
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
    const float result =
        (x[e] - of.mean) * of.rate * terms.weight[e] + terms.bias[e];
    y[e] = std::isnan(result) ? kNaN : result;
  }
}

void row(const LayerNormTerms& terms, const float* x, const float* residual,
         float* y) {
  if (residual != nullptr) {
    add_elements(x, residual, terms.E, y);
    x = y;
  }
  normalize(terms, moments_of(x, terms), x, y);
}

// z is the normalised row, g the gradient with respect to it.
struct RowBackward {
  const float* x;
  const float* d_y;
  const float* weight;
  Moments of;

  template <class D>
  HWY_INLINE hn::Vec<D> z(D d, std::size_t e) const {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + e), hn::Set(d, of.mean)),
                   hn::Set(d, of.rate));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> g(D d, std::size_t e) const {
    return hn::Mul(hn::LoadU(d, d_y + e), hn::LoadU(d, weight + e));
  }
};

struct Gradients {
  const RowBackward& row;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t e) const {
    return row.g(d, e);
  }
};

struct GradientsAlongZ {
  const RowBackward& row;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t e) const {
    return hn::Mul(row.g(d, e), row.z(d, e));
  }
};

// d_x = ((g - mean_g) - z * mean_gz) * rate for one element per lane of d, and
// what they add to the parameters' gradients. d_x comes last: it may be d_y.
struct WriteGradients {
  const RowBackward& row;
  float mean_g;
  float mean_gz;
  const LayerNormGradientRow& to;

  template <class D>
  HWY_INLINE void operator()(D d, std::size_t e) const {
    const auto z = row.z(d, e);
    const auto d_y = hn::LoadU(d, row.d_y + e);
    const auto centred = hn::Sub(row.g(d, e), hn::Set(d, mean_g));
    const auto d_z = hn::Sub(centred, hn::Mul(z, hn::Set(d, mean_gz)));
    const auto d_x = hn::Mul(d_z, hn::Set(d, row.of.rate));
    const auto d_weight = hn::LoadU(d, to.d_weight + e);
    const auto d_bias = hn::LoadU(d, to.d_bias + e);
    hn::StoreU(hn::Add(d_weight, hn::Mul(d_y, z)), d, to.d_weight + e);
    hn::StoreU(hn::Add(d_bias, d_y), d, to.d_bias + e);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(d_x), hn::Set(d, kNaN), d_x), d,
               to.d_x + e);
  }
};

HWY_INLINE bool all_zero(const float* values, std::size_t count) {
  return std::all_of(values, values + count,
                     [](float value) { return value == 0; });
}

void gradient(const LayerNormTerms& terms, const float* x, const float* d_y,
              const LayerNormGradientRow& to) {
  const std::size_t E = terms.E;
  if (all_zero(d_y, E)) {
    std::fill_n(to.d_x, E, 0.0f);
    return;
  }
  const RowBackward row{x, d_y, terms.weight, moments_of(x, terms)};
  const auto count = static_cast<float>(E);
  const float mean_g =
      terms.centred ? row_sum(E, Gradients{row}) / count : 0.0f;
  const float mean_gz = row_sum(E, GradientsAlongZ{row}) / count;
  const WriteGradients write{row, mean_g, mean_gz, to};
  std::size_t e = 0;
  for (; e + kLanes <= E; e += kLanes) {
    write(Lane(), e);
  }
  for (; e < E; ++e) {
    write(OneLane(), e);
  }
}

const LayerNorm* loops() {
  static constexpr LayerNorm kLoops = {row, gradient};
  return &kLoops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const LayerNorm& layer_norm() { return *HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
