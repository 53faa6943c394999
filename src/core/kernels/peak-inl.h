// What the loops that measure a peak share (kernels/targets.h). Per target:
// included between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_PEAK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_PEAK_INL_H_
#undef HEADWISE_KERNELS_PEAK_INL_H_
#else
#define HEADWISE_KERNELS_PEAK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {
// The compiler might remove a loop whose result cannot be read.
void keep_result(float result);
}  // namespace headwise::inline HEADWISE_ABI::kernels

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
// Ten chains keep two units with a latency of 4 or 5 cycles busy; twelve chains
// and the two factors fit in the 16 registers of AVX2.
constexpr std::size_t kChains = 12;

// Adds up the chains so that the compiler cannot remove any.
template <std::size_t kCount>
HWY_INLINE float total(const Vector (&chains)[kCount]) {
  const Lane d;
  Vector sum = hn::Zero(d);
  for (const auto& chain : chains) {
    sum = hn::Add(sum, chain);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_PEAK_INL_H_
