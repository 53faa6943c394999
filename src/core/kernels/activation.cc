#include "kernels/activation.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"  // this file, from src/
#include <hwy/foreach_target.h>                     // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

using Lanes = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lanes>;
using Mask = hn::Mask<Lanes>;
constexpr std::size_t kLanes = hn::MaxLanes(Lanes());

// Every f is x S(x), as docs/arithmetic.md defines it, where S grows from 0 to
// 1 and S(-x) = 1 - S(x). With u = |x| and the tail T = S(-u), f is max(x, 0) -
// u T, so that the subtracted term is small on both sides. Its derivative is h
// at -u and 1 - h at u, h being T - u S'(u). A curve has
//
//   kEnd      where T is 0; u is limited to it, so that infinity times 0 does
//             not occur
//   tail(u)   T
//   slope(u)  h; its u has no limit

// ---- GELU: S is Phi, the normal distribution. ----

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

HWY_INLINE Vector normal_tail(Vector u) {
  const Lanes d;
  Vector r = hn::Set(d, -0x1.c56e0ep-20f);
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
  const Vector magic = hn::Set(d, 0x1.8p23f + 126);
  const Vector shifted = hn::Add(r, magic);
  const Vector f = hn::Sub(r, hn::Sub(shifted, magic));
  Vector y = hn::Set(d, 0x1.5bda40p-10f);
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.3ce8acp-7f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.c6b6d8p-5f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.ebf9c2p-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.62e42ap-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<Lanes> di;
  const Vector power =
      hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::Mul(y, power);
}

struct Gaussian {
  static constexpr float kEnd = kTailEnd;
  explicit Gaussian(const Cubic& /*p*/) {}

  static HWY_INLINE Vector tail(Vector u) { return normal_tail(u); }
  // S' is phi. u phi(u) is the larger part from 1.2 on and has a limit of its
  // own, a point where exp2 is already 0.
  static HWY_INLINE Vector slope(Vector u) {
    const Lanes d;
    const Vector tail = normal_tail(hn::Min(u, hn::Set(d, kTailEnd)));
    const Vector v = hn::Min(u, hn::Set(d, 16.0f));
    const Vector minus_half_log2_e = hn::Set(d, -0x1.715476p-1f);
    const Vector one_by_root_two_pi = hn::Set(d, 0x1.988454p-2f);
    const Vector bell = exp2(d, hn::Mul(hn::Mul(v, v), minus_half_log2_e));
    return hn::NegMulAdd(hn::Mul(v, one_by_root_two_pi), bell, tail);
  }
};

// ---- SiLU and its like: S is 1 / (1 + exp(-p(x))). ----

// T is e / (e + 1) with e = exp(-p(u)), which exp2 makes 0 where p(u) is above
// 87.4: at kEnd for every a from 0.7 on.
struct Logistic {
  static constexpr float kEnd = 128.0f;
  static constexpr double kLog2E = 0x1.71547652b82fep+0;

  explicit Logistic(const Cubic& p)
      : a(static_cast<float>(p.a)),
        b(static_cast<float>(3 * p.b)),
        a_log2_e(static_cast<float>(-kLog2E * p.a)),
        b_log2_e(static_cast<float>(-kLog2E * p.b)) {}

  HWY_INLINE Vector tail(Vector u) const {
    const Lanes d;
    const Vector z =
        hn::MulAdd(hn::Mul(u, u), hn::Set(d, b_log2_e), hn::Set(d, a_log2_e));
    const Vector e = exp2(d, hn::Mul(u, z));
    return hn::Div(e, hn::Add(e, hn::Set(d, 1.0f)));
  }
  // S' is p' T (1 - T).
  HWY_INLINE Vector slope(Vector u) const {
    const Lanes d;
    const Vector v = hn::Min(u, hn::Set(d, kEnd));
    const Vector part = tail(v);
    const Vector p = hn::MulAdd(hn::Mul(v, v), hn::Set(d, b), hn::Set(d, a));
    const Vector rest = hn::Sub(hn::Set(d, 1.0f), part);
    return hn::NegMulAdd(hn::Mul(hn::Mul(v, p), rest), part, part);
  }

  float a, b;                // of p'
  float a_log2_e, b_log2_e;  // of -p
};

// ---- ReLU: S is 0 up to 0, then 1. ----

struct Rectifier {
  static constexpr float kEnd = 0.0f;
  explicit Rectifier(const Cubic& /*p*/) {}

  static HWY_INLINE Vector tail(Vector /*u*/) { return hn::Zero(Lanes()); }
  static HWY_INLINE Vector slope(Vector /*u*/) { return hn::Zero(Lanes()); }
};

// ---- f and its gradient, on any curve. ----

HWY_INLINE Vector nan_where(Mask where, Vector result) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return hn::IfThenElse(where, hn::Set(Lanes(), nan), result);
}

template <class Curve>
HWY_INLINE Vector f(const Curve& curve, Vector x) {
  const Lanes d;
  const Vector u = hn::Min(hn::Abs(x), hn::Set(d, Curve::kEnd));
  return nan_where(hn::IsNaN(x),
                   hn::NegMulAdd(curve.tail(u), u, hn::Max(x, hn::Zero(d))));
}

// The derivative; any number where x is NaN.
template <class Curve>
HWY_INLINE Vector df(const Curve& curve, Vector x) {
  const Lanes d;
  const Vector h = curve.slope(hn::Abs(x));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), h),
                        h);
}

// `gradient`, but 0 where d_y is 0, by select, even if x is NaN.
HWY_INLINE Vector gradient_of(Vector d_y, Vector x, Vector gradient) {
  const Mask nan = hn::Or(hn::IsNaN(x), hn::IsNaN(gradient));
  return hn::IfThenZeroElse(hn::Eq(d_y, hn::Zero(Lanes())),
                            nan_where(nan, gradient));
}

// ---- Rows. ----

// step(in, out) computes one vector of each output from one of each input.
// `count` is a multiple of kLanes.
template <std::size_t kIn, std::size_t kOut, class Step>
void whole_vectors(const float* const (&in)[kIn], std::size_t count,
                   float* const (&out)[kOut], const Step& step) {
  const Lanes d;
  for (std::size_t i = 0; i < count; i += kLanes) {
    Vector from[kIn];
    Vector to[kOut];
    for (std::size_t k = 0; k < kIn; ++k) {
      from[k] = hn::LoadU(d, in[k] + i);
    }
    step(from, to);
    for (std::size_t k = 0; k < kOut; ++k) {
      hn::StoreU(to[k], d, out[k] + i);
    }
  }
}

// The elements behind the last whole vector are computed in a copy.
template <std::size_t kIn, std::size_t kOut, class Step>
HWY_INLINE void row(const float* const (&in)[kIn], std::size_t count,
                    float* const (&out)[kOut], const Step& step) {
  const std::size_t rest = count % kLanes;
  const std::size_t whole = count - rest;
  whole_vectors(in, whole, out, step);
  if (rest == 0) {
    return;
  }
  alignas(64) float copy[kIn + kOut][kLanes] = {};
  const float* from[kIn];
  float* to[kOut];
  for (std::size_t k = 0; k < kIn; ++k) {
    std::copy_n(in[k] + whole, rest, copy[k]);
    from[k] = copy[k];
  }
  for (std::size_t k = 0; k < kOut; ++k) {
    to[k] = copy[kIn + k];
  }
  whole_vectors(from, kLanes, to, step);
  for (std::size_t k = 0; k < kOut; ++k) {
    std::copy_n(to[k], rest, out[k] + whole);
  }
}

template <class Curve>
void elements(const Cubic& p, const float* x, std::size_t count, float* y) {
  const Curve curve(p);
  row({x}, count, {y}, [&](const Vector* in, Vector* out) HWY_ATTR {
    out[0] = f(curve, in[0]);
  });
}

template <class Curve>
void gradient(const Cubic& p, const float* x, const float* d_y,
              std::size_t count, float* d_x) {
  const Curve curve(p);
  row({x, d_y}, count, {d_x}, [&](const Vector* in, Vector* out) HWY_ATTR {
    out[0] = gradient_of(in[1], in[0], hn::Mul(in[1], df(curve, in[0])));
  });
}

template <class Curve>
void gated(const Cubic& p, const float* gate, const float* up,
           std::size_t count, float* y) {
  const Curve curve(p);
  row({gate, up}, count, {y}, [&](const Vector* in, Vector* out) HWY_ATTR {
    const Vector product = hn::Mul(f(curve, in[0]), in[1]);
    out[0] = nan_where(hn::IsNaN(product), product);
  });
}

// d_y times what may be small, not what may be large times d_y: the derivative
// is 0 far below 0.
template <class Curve>
void gated_gradient(const Cubic& p, const float* gate, const float* up,
                    const float* d_y, std::size_t count, float* d_gate,
                    float* d_up) {
  const Curve curve(p);
  row({gate, up, d_y}, count, {d_gate, d_up},
      [&](const Vector* in, Vector* out) HWY_ATTR {
        const Vector x = in[0];
        const Vector d = in[2];
        const Vector d_f = hn::Mul(in[1], df(curve, x));
        out[0] = gradient_of(d, x, hn::Mul(d, d_f));
        out[1] = gradient_of(d, x, hn::Mul(d, f(curve, x)));
      });
}

template <class Curve>
constexpr Activation kLoopsOf = {elements<Curve>, gradient<Curve>, gated<Curve>,
                                 gated_gradient<Curve>};

const Activations* loops() {
  static constexpr Activations kLoops = {kLoopsOf<Gaussian>, kLoopsOf<Logistic>,
                                         kLoopsOf<Rectifier>};
  return &kLoops;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Activations& activations() { return *HWY_DYNAMIC_DISPATCH(loops)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
