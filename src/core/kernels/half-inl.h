// 16-bit numbers and vectors of float32, lane by lane, with the results of
// headwise/base/half.h on every target. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
//
// Highway 1.0.3 converts float16 as the contract wants it only where the
// processor does (F16C): its emulation has neither infinities nor rounding, and
// its bfloat16 are cut off.
#if defined(HEADWISE_KERNELS_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_HALF_INL_H_
#undef HEADWISE_KERNELS_HALF_INL_H_
#else
#define HEADWISE_KERNELS_HALF_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "headwise/base/half.h"
#include "headwise/version.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// F16C reads and writes denormal float16 numbers exactly, even where float32
// ones are flushed to zero.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define HEADWISE_HAS_F16C 1
#else
#define HEADWISE_HAS_F16C 0
#endif

template <class D>
using HalfBits = hn::Rebind<std::uint16_t, D>;

// The numbers from `from` on, as many as D has lanes, in float32. `from` need
// not be aligned.
template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const float* from) {
  return hn::LoadU(d, from);
}

// Before their scale.
template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const std::int8_t* from) {
  const hn::Rebind<std::int8_t, D> d8;
  const hn::RebindToSigned<D> d32;
  return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, from)));
}

template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const BFloat16* from) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::LoadU(HalfBits<D>(), &from->bits);
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const Float16* from) {
  const auto halves = hn::LoadU(HalfBits<D>(), &from->bits);
#if HEADWISE_HAS_F16C
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), halves));
#else
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(di, halves);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fff));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  // 0 or denormal: a multiple of 2^-24, which is a normal float32.
  const auto denormal = hn::BitCast(
      di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24f)));
  // The exponent's bias changes from 15 to 127; that of infinity and NaN stays
  // all ones.
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(di, 0x38000000));
  const auto special = hn::Or(shifted, hn::Set(di, 0x7f800000));
  const auto large =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7bff)), special, normal);
  const auto widened =
      hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), denormal, large);
  return hn::BitCast(d, hn::Or(widened, sign));
#endif
}

// Stores the vector from `to` on, rounded to nearest even. `to` need not be
// aligned.
template <class D>
HWY_INLINE void store_narrowed(hn::Vec<D> x, D d, float* to) {
  hn::StoreU(x, d, to);
}

// Each number rounded to the nearest bfloat16, to even, whose bits are the
// lower half of its lane; denormal numbers become zeros of their sign.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> bfloat16_bits(D /*d*/,
                                                          hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du, 1u));
  const auto rounded =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
  // 0 or denormal.
  const auto zero =
      hn::Eq(hn::And(bits, hn::Set(du, 0x7f800000u)), hn::Zero(du));
  const auto number =
      hn::IfThenElse(zero, hn::And(high, hn::Set(du, 0x8000u)), rounded);
  const auto nan = hn::RebindMask(du, hn::IsNaN(x));
  return hn::IfThenElse(nan, hn::Or(high, hn::Set(du, 0x40u)), number);
}

template <class D>
HWY_INLINE void store_narrowed(hn::Vec<D> x, D d, BFloat16* to) {
  const hn::RebindToSigned<D> di;
  const auto halves = hn::BitCast(di, bfloat16_bits(d, x));
  hn::StoreU(hn::DemoteTo(HalfBits<D>(), halves), HalfBits<D>(), &to->bits);
}

template <class D>
HWY_INLINE void store_narrowed(hn::Vec<D> x, D d, Float16* to) {
#if HEADWISE_HAS_F16C
  (void)d;
  const hn::Rebind<hwy::float16_t, D> half;
  hn::StoreU(hn::BitCast(HalfBits<D>(), hn::DemoteTo(half, x)), HalfBits<D>(),
             &to->bits);
#else
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  // Below 2^-14: a multiple of 2^-24, the last bit of 0.5 in float32, so the
  // addition rounds.
  const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f));
  const auto denormal = hn::Sub(hn::BitCast(di, sum), hn::Set(di, 0x3f000000));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
  // The exponent's bias changes from 127 to 15.
  const auto rounded = hn::Add(hn::Sub(magnitude, hn::Set(di, 0x38000000)),
                               hn::Add(odd, hn::Set(di, 0xfff)));
  const auto normal = hn::ShiftRight<13>(rounded);
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)),
                                     denormal, normal);
  // 65520 and above.
  const auto number = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477fefff)),
                                     hn::Set(di, 0x7c00), finite);
  const auto half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)),
                                   hn::Set(di, 0x7e00), number);
  hn::StoreU(hn::DemoteTo(HalfBits<D>(), hn::Or(half, sign)), HalfBits<D>(),
             &to->bits);
#endif
}

#undef HEADWISE_HAS_F16C

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_HALF_INL_H_
