#include "kernels/gelu.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Two vectors at a time: one waits for its chain alone.
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

const Gelu* loop() {
  static constexpr Gelu kLoop = {elements};
  return &kLoop;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::kernels {
HWY_EXPORT(loop);
const Gelu& gelu() { return *HWY_DYNAMIC_DISPATCH(loop)(); }
}  // namespace headwise::kernels
#endif  // HWY_ONCE
