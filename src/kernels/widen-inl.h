// Stored numbers (kernels/stored_rows.h) as vectors of float32. Per target:
// included between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_WIDEN_INL_H_
#undef HEADWISE_KERNELS_WIDEN_INL_H_
#else
#define HEADWISE_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "headwise/version.h"
#include "kernels/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The numbers from `from` on, exactly; int8 before its scale.
template <class D, class T>
HWY_INLINE hn::Vec<D> widened(D d, const T* from) {
  return load_widened(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const std::int8_t* from) {
  const hn::Rebind<std::int8_t, D> d8;
  const hn::RebindToSigned<D> d32;
  return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, from)));
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_WIDEN_INL_H_
