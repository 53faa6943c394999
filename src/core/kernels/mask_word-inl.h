// A mask's word as a vector mask. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_MASK_WORD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_MASK_WORD_INL_H_
#undef HEADWISE_KERNELS_MASK_WORD_INL_H_
#else
#define HEADWISE_KERNELS_MASK_WORD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "headwise/version.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits from `first` on, one per lane.
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, std::uint64_t word, std::size_t first) {
  const std::uint64_t bits = word >> first;
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_MASK_WORD_INL_H_
