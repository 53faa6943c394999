// Folds a block's partial result into a row's. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_FOLD_INL_H_
#undef HEADWISE_KERNELS_FOLD_INL_H_
#else
#define HEADWISE_KERNELS_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The factors of both sides, and whether a side is empty (its sum is 0): then
// the other is taken unchanged.
template <class D>
struct FoldOf {
  hn::Vec<D> state_factor;
  hn::Vec<D> block_factor;
  hn::Mask<D> state_empty;
  hn::Mask<D> block_empty;
};

template <class D>
HWY_INLINE FoldOf<D> fold_of(D d, const Fold& fold, std::size_t n) {
  const auto m = hn::Load(d, fold.block_max + n);
  const auto M = hn::Load(d, fold.state.max + n);
  const auto top = hn::Max(M, m);
  return {exp2(d, hn::Sub(M, top)), exp2(d, hn::Sub(m, top)),
          hn::Eq(hn::Load(d, fold.state.sum + n), hn::Zero(d)),
          hn::Eq(hn::Load(d, fold.block_sum + n), hn::Zero(d))};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V folded(const FoldOf<D>& fold, V state, V block) {
  const V both =
      hn::MulAdd(block, fold.block_factor, hn::Mul(state, fold.state_factor));
  return hn::IfThenElse(fold.block_empty, state,
                        hn::IfThenElse(fold.state_empty, block, both));
}

// The maximum of both sides.
template <class D>
HWY_INLINE hn::Vec<D> folded_max(D d, const FoldOf<D>& by, const Fold& fold,
                                 std::size_t n) {
  const auto m = hn::Load(d, fold.block_max + n);
  const auto M = hn::Load(d, fold.state.max + n);
  return hn::IfThenElse(by.block_empty, M,
                        hn::IfThenElse(by.state_empty, m, hn::Max(M, m)));
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_FOLD_INL_H_
