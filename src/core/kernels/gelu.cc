#include "kernels/gelu.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu.cc"  // this file, from src/
#include <hwy/foreach_target.h>               // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

// ---- x Phi(x) and its gradient, as docs/arithmetic.md defines them. ----

// Phi(-u) is 2^(r - 1) with r = 1 + log2 Phi(-u), a smooth function of u that
// is 0 at 0, approximated by a polynomial of degree 8. It was fitted (minimax,
// each coefficient rounded before the next) for the relative error of Phi(-u)
// up to 1.02 and for the absolute error of u Phi(-u) beyond. From 5.5 on, where
// u Phi(-u) is below 1e-7, it only had to decrease. u is limited to where the
// power is 0.
//
// 2^r is computed as in exp2, with a polynomial of degree 5 (relative error
// 9.4e-8) and the exponent less one. 18 instructions.
constexpr float kTailEnd = 0x1.5449bap+3f;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V normal_tail(D d, V u) {
  V r = hn::Set(d, -0x1.c56e0ep-20f);
  r = hn::MulAdd(r, u, hn::Set(d, 0x1.be5b7ep-16f));
  r = hn::MulAdd(r, u, hn::Set(d, -0x1.110fa4p-13f));
  r = hn::MulAdd(r, u, hn::Set(d, -0x1.110a22p-12f));
  r = hn::MulAdd(r, u, hn::Set(d, 0x1.d873fcp-8f));
  r = hn::MulAdd(r, u, hn::Set(d, -0x1.aec8dap-5f));
  r = hn::MulAdd(r, u, hn::Set(d, -0x1.d633eap-2f));
  r = hn::MulAdd(r, u, hn::Set(d, -0x1.26aefep+0f));
  r = hn::Mul(r, u);
  // As in exp2: rounds to the nearest integer n and leaves the exponent of 2^(n
  // - 1) in the low bits.
  const V magic = hn::Set(d, 0x1.8p23f + 126);
  const V shifted = hn::Add(r, magic);
  const V f = hn::Sub(r, hn::Sub(shifted, magic));
  V y = hn::Set(d, 0x1.5bda40p-10f);
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.3ce8acp-7f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.c6b6d8p-5f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.ebf9c2p-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.62e42ap-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> di;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::Mul(y, power);
}

// With u = |x|, x Phi(x) is max(x, 0) - u Phi(-u), so that the subtracted term
// is small on both sides. The error is at most 8.6e-8 * max(1, |x|), and at
// most 3.3e-7 of the result for x >= -1 (GeluTest; GeluContractTest checks that
// every target has the same bits).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu(D d, V x) {
  const V u = hn::Min(hn::Abs(x), hn::Set(d, kTailEnd));
  const V result = hn::NegMulAdd(normal_tail(d, u), u, hn::Max(x, hn::Zero(d)));
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(x), nan, result);
}

// d_y (Phi(x) + x phi(x)). With u = |x|, h = Phi(-u) - u phi(u) is the
// derivative at -u and 1 - h the one at u, so the same tail serves both sides.
// u is limited twice: for the tail to where that is 0; for phi, which is the
// larger of the two from 1.2 on, to a point where exp2 is already 0, so that
// infinity times 0 does not occur. Where d_y is 0, so is the result, by select,
// even if x is NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_gradient(D d, V x, V d_y) {
  const V tail = normal_tail(d, hn::Min(hn::Abs(x), hn::Set(d, kTailEnd)));
  const V u = hn::Min(hn::Abs(x), hn::Set(d, 16.0f));
  const V minus_half_log2_e = hn::Set(d, -0x1.715476p-1f);
  const V one_by_root_two_pi = hn::Set(d, 0x1.988454p-2f);
  const V bell = exp2(d, hn::Mul(hn::Mul(u, u), minus_half_log2_e));
  const V h = hn::NegMulAdd(hn::Mul(u, one_by_root_two_pi), bell, tail);
  const V derivative =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), h, hn::Sub(hn::Set(d, 1.0f), h));
  const V result = hn::Mul(d_y, derivative);
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenZeroElse(
      hn::Eq(d_y, hn::Zero(d)),
      hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(result)), nan, result));
}

// ---- Rows. ----

// Two vectors at a time: a single one would wait for its own chain.
void elements(const float* x, std::size_t count, float* y) {
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + kLanes);
    hn::StoreU(gelu(d, a), d, y + i);
    hn::StoreU(gelu(d, b), d, y + i + kLanes);
  }
  for (; i < count; i += kLanes) {
    const std::size_t rest = std::min(kLanes, count - i);
    alignas(64) float some[kLanes] = {};
    std::copy_n(x + i, rest, some);
    hn::Store(gelu(d, hn::Load(d, some)), d, some);
    std::copy_n(some, rest, y + i);
  }
}

void gradient(const float* x, const float* d_y, std::size_t count, float* d_x) {
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + kLanes);
    const auto d_a = hn::LoadU(d, d_y + i);
    const auto d_b = hn::LoadU(d, d_y + i + kLanes);
    hn::StoreU(gelu_gradient(d, a, d_a), d, d_x + i);
    hn::StoreU(gelu_gradient(d, b, d_b), d, d_x + i + kLanes);
  }
  for (; i < count; i += kLanes) {
    const std::size_t rest = std::min(kLanes, count - i);
    alignas(64) float some[kLanes] = {};
    alignas(64) float d_some[kLanes] = {};
    std::copy_n(x + i, rest, some);
    std::copy_n(d_y + i, rest, d_some);
    hn::Store(gelu_gradient(d, hn::Load(d, some), hn::Load(d, d_some)), d,
              d_some);
    std::copy_n(d_some, rest, d_x + i);
  }
}

const Gelu* loops() {
  static constexpr Gelu kLoops = {elements, gradient};
  return &kLoops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gelu& gelu() { return *HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
