// Pairs of bfloat16: one takes the place of a float, the number of lower index
// in its lower half. Of a pair's two products the upper is added first, as by
// the dot product of AVX512-BF16, which is two fused multiply-adds in a row
// where denormal numbers are flushed to zero. So all instruction sets with
// fused multiply-add give the same bits (docs/arithmetic.md). Per target:
// included between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
//
// What follows this file may use AVX512-BF16 where the target is AVX3. Only
// NativePairs use it; with_pairs() chooses them.
#if defined(HEADWISE_KERNELS_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_PAIRS_INL_H_
#undef HEADWISE_KERNELS_PAIRS_INL_H_
#else
#define HEADWISE_KERNELS_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"
#include "kernels/attention_tile.h"
#include "kernels/half-inl.h"
#include "kernels/mask_word-inl.h"
#include "kernels/native_pairs.h"

// Highway 1.0.3 has no target with these instructions.
#if HWY_TARGET == HWY_AVX3
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512bf16"
#endif

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct EmulatedPairs {
  static constexpr std::size_t kNumbers = 2;  // of a sum in an element

  template <class D>
  static HWY_INLINE hn::Vec<D> add(D d, hn::Vec<D> x, hn::Vec<D> y,
                                   hn::Vec<D> sum) {
    return hn::MulAdd(lower(d, x), lower(d, y),
                      hn::MulAdd(upper(d, x), upper(d, y), sum));
  }
  // Only in the lanes, from `first` on, whose bit is 1: of allowed[0] for the
  // lower products, of allowed[1] for the upper ones.
  template <class D>
  static HWY_INLINE hn::Vec<D> add_allowed(D d, hn::Vec<D> x, hn::Vec<D> y,
                                           hn::Vec<D> sum,
                                           const MaskWord* allowed,
                                           std::size_t first) {
    sum = hn::IfThenElse(mask_of(d, allowed[1], first),
                         hn::MulAdd(upper(d, x), upper(d, y), sum), sum);
    return hn::IfThenElse(mask_of(d, allowed[0], first),
                          hn::MulAdd(lower(d, x), lower(d, y), sum), sum);
  }
  // The lower product only if bit 0 of `taken` is 1, the upper one bit 1.
  template <class D>
  static HWY_INLINE hn::Vec<D> add_taken(D d, hn::Vec<D> x, hn::Vec<D> y,
                                         hn::Vec<D> sum, MaskWord taken) {
    if ((taken & 2) != 0) {
      sum = hn::MulAdd(upper(d, x), upper(d, y), sum);
    }
    return (taken & 1) != 0 ? hn::MulAdd(lower(d, x), lower(d, y), sum) : sum;
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> pair(D d, hn::Vec<D> low, hn::Vec<D> high) {
    return hn::BitCast(d, hn::Or(bfloat16_bits(d, low),
                                 hn::ShiftLeft<16>(bfloat16_bits(d, high))));
  }

  template <class D>
  static HWY_INLINE hn::Vec<D> upper(D d, hn::Vec<D> pairs) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(
        d, hn::And(hn::BitCast(du, pairs), hn::Set(du, 0xffff0000u)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> pairs) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(du, pairs)));
  }
};

#if HWY_TARGET == HWY_AVX3
struct NativePairs : EmulatedPairs {
  using D512 = hn::Full512<float>;
  using D256 = hn::Full256<float>;

  static HWY_INLINE hn::Vec<D512> add(D512 /*d*/, hn::Vec<D512> x,
                                      hn::Vec<D512> y, hn::Vec<D512> sum) {
    return hn::Vec<D512>{_mm512_dpbf16_ps(sum.raw,
                                          reinterpret_cast<__m512bh>(x.raw),
                                          reinterpret_cast<__m512bh>(y.raw))};
  }
  static HWY_INLINE hn::Vec<D256> add(D256 /*d*/, hn::Vec<D256> x,
                                      hn::Vec<D256> y, hn::Vec<D256> sum) {
    return hn::Vec<D256>{_mm256_dpbf16_ps(sum.raw,
                                          reinterpret_cast<__m256bh>(x.raw),
                                          reinterpret_cast<__m256bh>(y.raw))};
  }

  using EmulatedPairs::pair;
  // The conversion puts the lower numbers in front of the upper ones.
  static HWY_INLINE hn::Vec<D512> pair(D512 d, hn::Vec<D512> low,
                                       hn::Vec<D512> high) {
    const auto halves =
        reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.raw, low.raw));
    const hn::RebindToUnsigned<D512> du;
    const auto lane = hn::Iota(du, 0);
    const auto order =
        hn::Or(lane, hn::ShiftLeft<16>(hn::Add(lane, hn::Set(du, 16u))));
    return hn::BitCast(d, hn::Vec<hn::RebindToUnsigned<D512>>{
                              _mm512_permutexvar_epi16(order.raw, halves)});
  }
};
#endif

// Calls body(pairs), where the type of `pairs` is what multiplies on this
// processor.
template <class Body>
auto with_pairs(const Body& body) {
#if HWY_TARGET == HWY_AVX3
  if (native_pairs()) {
    return body(NativePairs());
  }
#endif
  return body(EmulatedPairs());
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_PAIRS_INL_H_
