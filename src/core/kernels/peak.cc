#include <atomic>

#include "headwise/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/peak-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kSums = 4;

double multiply_adds(std::size_t turns, float* result) {
  const Lane d;
  // Converges to 0.1: no chain becomes denormal, whatever the number of turns.
  const Vector factor = hn::Set(d, 0.999999f);
  const Vector addend = hn::Set(d, 1e-7f);
  Vector chains[kChains];
  for (std::size_t c = 0; c < kChains; ++c) {
    chains[c] = hn::Set(d, static_cast<float>(c));
  }
  for (std::size_t turn = 0; turn < turns; ++turn) {
    for (auto& chain : chains) {
      chain = hn::MulAdd(chain, factor, addend);
    }
  }
  *result = total(chains);
  return 2.0 * static_cast<double>(kChains * hn::Lanes(d)) *
         static_cast<double>(turns);
}

float sum_of(const float* elements, std::size_t count) {
  const Lane d;
  const std::size_t step = kSums * hn::Lanes(d);
  Vector sums[kSums];
  for (auto& sum : sums) {
    sum = hn::Zero(d);
  }
  std::size_t at = 0;
  for (; at + step <= count; at += step) {
    for (std::size_t s = 0; s < kSums; ++s) {
      sums[s] =
          hn::Add(sums[s], hn::LoadU(d, elements + at + s * hn::Lanes(d)));
    }
  }
  float rest = total(sums);
  for (; at < count; ++at) {
    rest += elements[at];
  }
  return rest;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
void keep_result(float result) {
  static std::atomic<float> last;
  last.store(result, std::memory_order_relaxed);
}

HWY_EXPORT(multiply_adds);
HWY_EXPORT(sum_of);

double run_multiply_adds(std::size_t turns) {
  float result = 0;
  const double operations = HWY_DYNAMIC_DISPATCH(multiply_adds)(turns, &result);
  keep_result(result);
  return operations;
}

void read_all(std::span<const float> elements) {
  keep_result(HWY_DYNAMIC_DISPATCH(sum_of)(elements.data(), elements.size()));
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
