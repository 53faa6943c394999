#include <utility>

#include "headwise/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pair_peak.cc"  // this file, from src/
#include <hwy/foreach_target.h>                    // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

// Before all that is compiled for its instructions:
#include "kernels/pairs-inl.h"
// clang-format off
#include "kernels/peak-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

// Unrolled by hand: a loop of the compiler may keep the chains in memory.
template <class Pairs, std::size_t... kChain>
HWY_INLINE void add_to_all(Vector x, Vector y, Vector (&chains)[kChains],
                           std::index_sequence<kChain...> /*all*/) {
  ((chains[kChain] = Pairs::add(Lane(), x, y, chains[kChain])), ...);
}

template <class Pairs>
double run_products(std::size_t turns, float* result) {
  const Lane d;
  // The two products of a turn cancel out: no chain grows or becomes denormal.
  const Vector x = Pairs::pair(d, hn::Set(d, -0.5f), hn::Set(d, 0.5f));
  const Vector y = Pairs::pair(d, hn::Set(d, 1.0f), hn::Set(d, 1.0f));
  Vector chains[kChains];
  for (std::size_t c = 0; c < kChains; ++c) {
    chains[c] = hn::Set(d, static_cast<float>(c));
  }
  for (std::size_t turn = 0; turn < turns; ++turn) {
    add_to_all<Pairs>(x, y, chains, std::make_index_sequence<kChains>());
  }
  *result = total(chains);
  return 2.0 * static_cast<double>(Pairs::kNumbers * kChains * hn::Lanes(d)) *
         static_cast<double>(turns);
}

double products(std::size_t turns, float* result) {
  return with_pairs(
      [=](auto pairs) { return run_products<decltype(pairs)>(turns, result); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(products);

double run_pair_products(std::size_t turns) {
  float result = 0;
  const double operations = HWY_DYNAMIC_DISPATCH(products)(turns, &result);
  keep_result(result);
  return operations;
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
