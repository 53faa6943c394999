#include "kernels/gelu.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Two vectors at a time: a single one would wait for its own chain.
void elements(const float* x, std::size_t count, float* y) {
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + kLanes);
    hn::StoreU(gelu(d, a), d, y + i);
    hn::StoreU(gelu(d, b), d, y + i + kLanes);
  }
  for (; i < count; i += kLanes) {
    const std::size_t rest = std::min(kLanes, count - i);
    alignas(64) float some[kLanes] = {};
    std::copy_n(x + i, rest, some);
    hn::Store(gelu(d, hn::Load(d, some)), d, some);
    std::copy_n(some, rest, y + i);
  }
}

void gradient(const float* x, const float* d_y, std::size_t count, float* d_x) {
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + kLanes);
    const auto d_a = hn::LoadU(d, d_y + i);
    const auto d_b = hn::LoadU(d, d_y + i + kLanes);
    hn::StoreU(gelu_gradient(d, a, d_a), d, d_x + i);
    hn::StoreU(gelu_gradient(d, b, d_b), d, d_x + i + kLanes);
  }
  for (; i < count; i += kLanes) {
    const std::size_t rest = std::min(kLanes, count - i);
    alignas(64) float some[kLanes] = {};
    alignas(64) float d_some[kLanes] = {};
    std::copy_n(x + i, rest, some);
    std::copy_n(d_y + i, rest, d_some);
    hn::Store(gelu_gradient(d, hn::Load(d, some), hn::Load(d, d_some)), d,
              d_some);
    std::copy_n(d_some, rest, d_x + i);
  }
}

const Gelu* loops() {
  static constexpr Gelu kLoops = {elements, gradient};
  return &kLoops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gelu& gelu() { return *HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
