#include "kernels/rotary.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary.cc"  // this file, from src/
#include <hwy/foreach_target.h>                 // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 16>;
template <class D>
using Vec = hn::Vec<D>;

// An angle of at most 2^31 as n * pi / 2 + r, |r| <= pi / 4. pi / 2 is cut into
// parts whose products with n, itself in two parts, are exact, so that
// instruction sets with and without a fused multiply-add give the same bits.
struct Reduced {
  Vec<Doubles> n_bits;  // n in the last bits of the mantissa
  Vec<Doubles> r;
};
Reduced reduced(Doubles d, Vec<Doubles> angle) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kToWhole = 0x1.8p+52;
  constexpr double kToSixteenBits = 0x1.8p+68;
  constexpr double kHalfPi1 = 0x1.921fb544p+0;  // 31 bits
  constexpr double kHalfPi2 = 0x1.0b461p-34;    // the next 22
  constexpr double kHalfPi3 = 0x1.a62633145c06ep-58;
  const auto whole = hn::Set(d, kToWhole);
  const auto n_bits = hn::Add(hn::Mul(angle, hn::Set(d, kTwoOverPi)), whole);
  const auto n = hn::Sub(n_bits, whole);
  const auto sixteen = hn::Set(d, kToSixteenBits);
  const auto high = hn::Sub(hn::Add(n, sixteen), sixteen);
  const auto low = hn::Sub(n, high);
  auto r = hn::Sub(angle, hn::Mul(high, hn::Set(d, kHalfPi1)));
  r = hn::Sub(r, hn::Mul(low, hn::Set(d, kHalfPi1)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, kHalfPi2)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, kHalfPi3)));
  return {n_bits, r};
}

// The series of sine and cosine; the terms left out are below 2^-54.
Vec<Doubles> sine(Doubles d, Vec<Doubles> r, Vec<Doubles> square) {
  constexpr double kTerms[] = {0x1.6124613a86d09p-33, -0x1.ae64567f544e4p-26,
                               0x1.71de3a556c734p-19, -0x1.a01a01a01a01ap-13,
                               0x1.1111111111111p-7,  -0x1.5555555555555p-3};
  auto series = hn::Set(d, -0x1.ae7f3e733b81fp-41);
  for (const double term : kTerms) {
    series = hn::Add(hn::Mul(series, square), hn::Set(d, term));
  }
  return hn::Add(r, hn::Mul(hn::Mul(r, square), series));
}
Vec<Doubles> cosine(Doubles d, Vec<Doubles> square) {
  constexpr double kTerms[] = {-0x1.93974a8c07c9dp-37,
                               0x1.1eed8eff8d898p-29,
                               -0x1.27e4fb7789f5cp-22,
                               0x1.a01a01a01a01ap-16,
                               -0x1.6c16c16c16c17p-10,
                               0x1.5555555555555p-5,
                               -0.5,
                               1};
  auto series = hn::Set(d, 0x1.ae7f3e733b81fp-45);
  for (const double term : kTerms) {
    series = hn::Add(hn::Mul(series, square), hn::Set(d, term));
  }
  return series;
}

// cos and sin of the angle: by its quadrant one of the two series, or its
// negative.
void turn(Doubles d, Vec<Doubles> angle, Vec<Doubles> factor, Vec<Doubles>& cos,
          Vec<Doubles>& sin) {
  const hn::RebindToUnsigned<Doubles> bits;
  const auto [n_bits, r] = reduced(d, angle);
  const auto square = hn::Mul(r, r);
  const auto s = sine(d, r, square);
  const auto c = cosine(d, square);
  const auto quadrant = hn::BitCast(bits, n_bits);
  const auto is_odd = hn::MaskFromVec(hn::BitCast(
      d, hn::Sub(hn::Zero(bits), hn::And(quadrant, hn::Set(bits, 1)))));
  const auto sign_of = [&](auto n) {
    return hn::BitCast(d, hn::ShiftLeft<62>(hn::And(n, hn::Set(bits, 2))));
  };
  const auto of_sine = hn::IfThenElse(is_odd, c, s);
  const auto of_cosine = hn::IfThenElse(is_odd, s, c);
  sin = hn::Mul(hn::Xor(of_sine, sign_of(quadrant)), factor);
  cos = hn::Mul(
      hn::Xor(of_cosine, sign_of(hn::Add(quadrant, hn::Set(bits, 1)))), factor);
}

void angles(double position, const double* frequencies, std::size_t pairs,
            double factor, float* cos, float* sin) {
  const Doubles d;
  const hn::Rebind<float, Doubles> f;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  for (std::size_t p = 0; p < pairs; p += kLanes) {
    const std::size_t some = std::min(kLanes, pairs - p);
    alignas(64) double frequency[kLanes] = {};
    std::copy_n(frequencies + p, some, frequency);
    auto c = hn::Zero(d);
    auto s = hn::Zero(d);
    turn(d, hn::Mul(hn::Set(d, position), hn::Load(d, frequency)),
         hn::Set(d, factor), c, s);
    alignas(64) float rounded[kLanes];
    hn::Store(hn::DemoteTo(f, c), f, rounded);
    std::copy_n(rounded, some, cos + p);
    hn::Store(hn::DemoteTo(f, s), f, rounded);
    std::copy_n(rounded, some, sin + p);
  }
}

Vec<Floats> one_nan(Floats d, Vec<Floats> x) {
  return hn::IfThenElse(hn::IsNaN(x),
                        hn::Set(d, std::numeric_limits<float>::quiet_NaN()), x);
}

struct Pair {
  Vec<Floats> first;
  Vec<Floats> second;
};
Pair turned(Floats d, const Pair& x, Vec<Floats> cos, Vec<Floats> sin) {
  return {one_nan(d, hn::MulSub(x.first, cos, hn::Mul(x.second, sin))),
          one_nan(d, hn::MulAdd(x.second, cos, hn::Mul(x.first, sin)))};
}

void halves(const float* x1, const float* x2, const float* cos,
            const float* sin, std::size_t pairs, float* y1, float* y2) {
  const Floats d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto turn_some = [&](const float* a, const float* b, const float* c,
                             const float* s, float* to_a, float* to_b) {
    const auto [first, second] = turned(d, {hn::LoadU(d, a), hn::LoadU(d, b)},
                                        hn::LoadU(d, c), hn::LoadU(d, s));
    hn::StoreU(first, d, to_a);
    hn::StoreU(second, d, to_b);
  };
  std::size_t p = 0;
  for (; p + kLanes <= pairs; p += kLanes) {
    turn_some(x1 + p, x2 + p, cos + p, sin + p, y1 + p, y2 + p);
  }
  if (p == pairs) {
    return;
  }
  const std::size_t rest = pairs - p;
  alignas(64) float some[4][kLanes] = {};
  std::copy_n(x1 + p, rest, some[0]);
  std::copy_n(x2 + p, rest, some[1]);
  std::copy_n(cos + p, rest, some[2]);
  std::copy_n(sin + p, rest, some[3]);
  turn_some(some[0], some[1], some[2], some[3], some[0], some[1]);
  std::copy_n(some[0], rest, y1 + p);
  std::copy_n(some[1], rest, y2 + p);
}

void interleaved(const float* x, const float* cos, const float* sin,
                 std::size_t pairs, float* y) {
  const Floats d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto turn_some = [&](const float* from, const float* c, const float* s,
                             float* to) {
    Pair pair;
    hn::LoadInterleaved2(d, from, pair.first, pair.second);
    const auto [first, second] =
        turned(d, pair, hn::LoadU(d, c), hn::LoadU(d, s));
    hn::StoreInterleaved2(first, second, d, to);
  };
  std::size_t p = 0;
  for (; p + kLanes <= pairs; p += kLanes) {
    turn_some(x + 2 * p, cos + p, sin + p, y + 2 * p);
  }
  if (p == pairs) {
    return;
  }
  const std::size_t rest = pairs - p;
  alignas(64) float some[2 * kLanes] = {};
  alignas(64) float c[kLanes] = {};
  alignas(64) float s[kLanes] = {};
  std::copy_n(x + 2 * p, 2 * rest, some);
  std::copy_n(cos + p, rest, c);
  std::copy_n(sin + p, rest, s);
  turn_some(some, c, s, some);
  std::copy_n(some, 2 * rest, y + 2 * p);
}

const RotaryLoops* loops() {
  static constexpr RotaryLoops kLoops = {angles, halves, interleaved};
  return &kLoops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const RotaryLoops& rotary_loops() { return *HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
