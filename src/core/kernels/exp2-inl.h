// 2^x and the hyperbolic tangent, lane by lane, as docs/arithmetic.md defines
// them. Per target: included between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_EXP2_INL_H_
#undef HEADWISE_KERNELS_EXP2_INL_H_
#else
#define HEADWISE_KERNELS_EXP2_INL_H_
#endif

#include <hwy/highway.h>

#include "headwise/version.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x = n + f with n an integer and |f| <= 1/2. 2^f is a polynomial whose
// constant term is 1, so that exp2(0) is exactly 1; the product with 2^n is
// exact and keeps a NaN. Below -126 the result is +0, by select. Only for x <=
// 0, which is all that a softmax needs. The relative error is at most 8.1e-8
// (ContractExp2Test; ContractTest checks that every target has the same bits).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
  // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves
  // it in the low bits; with 127 added they are the exponent of 2^n.
  const V magic = hn::Set(d, 0x1.8p23f + 127);
  const V shifted = hn::Add(x, magic);
  const V f = hn::Sub(x, hn::Sub(shifted, magic));
  V y = hn::Set(d, 0x1.4211eep-13f);
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.5f3e88p-10f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.3b2d2ep-7f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.c6aee8p-5f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.ebfbdcp-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.62e430p-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> di;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V tiny = hn::Set(d, -126.0f);
  return hn::IfThenZeroElse(hn::Lt(x, tiny), hn::Mul(y, power));
}

// With e = exp(-2 |x|) - 1, which is 2^z - 1 for z = -2 log2(e) |x|, the
// tangent of |x| is -e / (e + 2); then the sign of x is applied. z = n + g with
// n an integer and |g| <= 1/2, and e = 2^n (2^g - 1) + (2^n - 1): the
// polynomial for 2^g - 1 has no constant term, so that e is accurate where it
// is small. For z of -64 and below, e is exactly -1; NaN stays NaN. The
// relative error is at most 2.6e-7 (ContractTanhTest; ContractTest checks that
// every target has the same bits).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  V z = hn::Mul(hn::Abs(x), hn::Set(d, -0x1.715476p+1f));
  const V lowest = hn::Set(d, -64.0f);
  z = hn::IfThenElse(hn::Lt(z, lowest), lowest, z);
  // As in exp2: rounds to the nearest integer and leaves the exponent of 2^n in
  // the low bits.
  const V magic = hn::Set(d, 0x1.8p23f + 127);
  const V shifted = hn::Add(z, magic);
  const V g = hn::Sub(z, hn::Sub(shifted, magic));
  V y = hn::Set(d, 0x1.4308fap-13f);
  y = hn::MulAdd(y, g, hn::Set(d, 0x1.5f07b4p-10f));
  y = hn::MulAdd(y, g, hn::Set(d, 0x1.3b2ba0p-7f));
  y = hn::MulAdd(y, g, hn::Set(d, 0x1.c6af6ep-5f));
  y = hn::MulAdd(y, g, hn::Set(d, 0x1.ebfbdep-3f));
  y = hn::MulAdd(y, g, hn::Set(d, 0x1.62e430p-1f));
  y = hn::Mul(y, g);
  const hn::RebindToSigned<D> di;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V e = hn::MulAdd(y, power, hn::Sub(power, hn::Set(d, 1.0f)));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0f))), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_EXP2_INL_H_
