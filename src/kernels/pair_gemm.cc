#include "kernels/pair_gemm.h"

#include <algorithm>

#include "kernels/pair_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pair_gemm.cc"  // this file, from src/
#include <hwy/foreach_target.h>                    // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

// Before all that is compiled for its instructions:
#include "kernels/pairs-inl.h"
// clang-format off
#include "kernels/gemm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

const Gemm* loops() {
#if HWY_TARGET == HWY_AVX3
  return native_pairs() ? loops_of<NativePairs>() : loops_of<EmulatedPairs>();
#else
  return loops_of<EmulatedPairs>();
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gemm& pair_gemm() { return *HWY_DYNAMIC_DISPATCH(loops)(); }

std::size_t pair_strip_size(std::size_t in_features) {
  return strip_size(count_pairs(in_features));
}

void pair_strips(const float* strips, std::size_t in_features,
                 std::size_t out_features, float* pairs) {
  for (std::size_t strip = 0; strip < count_strips(out_features); ++strip) {
    std::copy_n(strips, kStripFeatures, pairs);
    pair_tile().pair_rows(strips + kStripFeatures, in_features, kStripFeatures,
                          pairs + kStripFeatures);
    strips += strip_size(in_features);
    pairs += pair_strip_size(in_features);
  }
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
