#include "kernels/gemm.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/gemm-inl.h"
#include "kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
const Gemm* loops() { return loops_of<FloatProducts>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gemm& gemm() { return *HWY_DYNAMIC_DISPATCH(loops)(); }

namespace {

// Of a whole strip; the compiler unrolls the loop over its features.
void pack_whole_rows(const float* weight, std::size_t in_features,
                     std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < kStripFeatures; ++f) {
      to[f] = weight[f * in_features + i];
    }
    to += kStripFeatures;
  }
}

}  // namespace

void pack_strip_rows(const float* weight, std::size_t in_features,
                     std::size_t count, std::size_t features, float* to) {
  if (features == kStripFeatures) {
    pack_whole_rows(weight, in_features, count, to);
    return;
  }
  std::fill_n(to, count * kStripFeatures, 0.0f);
  for (std::size_t f = 0; f < features; ++f) {
    for (std::size_t i = 0; i < count; ++i) {
      to[i * kStripFeatures + f] = weight[f * in_features + i];
    }
  }
}

void pack_strips(const float* weight, const float* bias,
                 std::size_t in_features, std::size_t out_features,
                 float* strips) {
  for (std::size_t strip = 0; strip < count_strips(out_features); ++strip) {
    const std::size_t first = strip * kStripFeatures;
    const std::size_t features = std::min(kStripFeatures, out_features - first);
    float* to = strips + strip * strip_size(in_features);
    std::fill_n(to, kStripFeatures, 0.0f);
    if (bias != nullptr) {
      std::copy_n(bias + first, features, to);
    }
    pack_strip_rows(weight + first * in_features, in_features, in_features,
                    features, to + kStripFeatures);
  }
}

void pack_transposed_strips(const float* weight, std::size_t in_features,
                            std::size_t out_features, float* strips) {
  // A strip's row is a part of a row of the weight. Several rows go to a strip
  // together, so that a page is visited less often.
  constexpr std::size_t kRows = 16;
  const std::size_t size = strip_size(out_features);
  for (std::size_t begin = 0; begin < out_features; begin += kRows) {
    const std::size_t end = std::min(begin + kRows, out_features);
    for (std::size_t strip = 0; strip < count_strips(in_features); ++strip) {
      const std::size_t first = strip * kStripFeatures;
      const std::size_t features =
          std::min(kStripFeatures, in_features - first);
      float* to = strips + strip * size + (1 + begin) * kStripFeatures;
      for (std::size_t o = begin; o < end; ++o, to += kStripFeatures) {
        const float* const from = weight + o * in_features + first;
        if (features == kStripFeatures) {
          std::copy_n(from, kStripFeatures, to);
        } else {
          std::fill_n(std::copy_n(from, features, to),
                      kStripFeatures - features, 0.0f);
        }
      }
    }
  }
  for (std::size_t strip = 0; strip < count_strips(in_features); ++strip) {
    std::fill_n(strips + strip * size, kStripFeatures, 0.0f);  // no bias
  }
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
