// What a chain multiplies: here float32 numbers, in pairs-inl.h pairs of
// bfloat16. Per target: included between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_PRODUCTS_INL_H_
#undef HEADWISE_KERNELS_PRODUCTS_INL_H_
#else
#define HEADWISE_KERNELS_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct FloatProducts {
  static constexpr std::size_t kNumbers = 1;  // of a sum in an element

  template <class D>
  static HWY_INLINE hn::Vec<D> add(D /*d*/, hn::Vec<D> x, hn::Vec<D> y,
                                   hn::Vec<D> sum) {
    return hn::MulAdd(x, y, sum);
  }
  // Only in the lanes, from `first` on, whose bit of allowed[0] is 1.
  template <class D>
  static HWY_INLINE hn::Vec<D> add_allowed(D d, hn::Vec<D> x, hn::Vec<D> y,
                                           hn::Vec<D> sum,
                                           const MaskWord* allowed,
                                           std::size_t first) {
    return hn::IfThenElse(mask_of(d, *allowed, first), hn::MulAdd(x, y, sum),
                          sum);
  }
  // Only if bit 0 of `taken` is 1.
  template <class D>
  static HWY_INLINE hn::Vec<D> add_taken(D /*d*/, hn::Vec<D> x, hn::Vec<D> y,
                                         hn::Vec<D> sum, MaskWord taken) {
    return (taken & 1) != 0 ? hn::MulAdd(x, y, sum) : sum;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_PRODUCTS_INL_H_
