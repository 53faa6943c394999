// The activation of a feed-forward network, element by element, alone or as a
// gate:
//
//   y = f(x)        x         (N, E)  in
//   y = f(gate) up  gate, up  (N, E)  in
//                   y         (N, E)  out
//
//   gelu        x Phi(x) = x / 2 (1 + erf(x / sqrt 2))
//   gelu_tanh   x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
//   silu        x sigmoid(x), also called swish
//   quick_gelu  x sigmoid(1.702 x)
//   relu        x for x > 0, else 0
//
// Phi is the standard normal distribution; sigmoid(x) = 1 / (1 + exp(-x)).
// gelu_tanh is also called gelu_new. A gate with silu is known as SwiGLU, with
// gelu or gelu_tanh as GEGLU.
//
// f has an error of at most 9e-8 * max(1, |x|), and of at most 3.3e-7 of itself
// for x >= -1. Below -1 the relative error is at most 9e-6 for gelu_tanh and
// 4e-6 for silu and quick_gelu, until f is 0: for gelu from -10.65 down, for
// gelu_tanh from -10.01, for silu from -87.34, for quick_gelu from -51.32
// (ActivationTest.StaysNearTheFormulaInDouble). From 17 up, f(x) is x. relu is
// exact. +inf gives +inf, -inf gives 0, NaN gives NaN. Denormal numbers count
// as 0.
//
// Backward, with d_y the gradient of a loss with respect to y:
//
//   d_x    = d_y f'(x)         d_x, d_y      (N, E)
//   d_gate = d_y up f'(gate)   d_gate, d_up  (N, E)
//   d_up   = d_y f(gate)
//
// f' has an error of at most 1.5e-7, of at most 4.5e-7 of itself for x >= -0.5,
// and the right sign. Where it approaches 0, from -1 down (silu: from -2), its
// relative error is at most 9e-6 for gelu_tanh, 4e-6 for silu and quick_gelu
// and, for gelu, 1.7e-6 down to -3 and 1.4% down to -13.22, where it becomes 0
// (ActivationGradientTest.StaysNearTheFormulaInDouble). f' is 1 at +inf and 0
// at -inf; that of relu is 0 at 0. A gradient is NaN where something that it
// depends on is, but where d_y is 0, all are 0, whatever the other inputs hold:
// NaN in padding does not spread.
//
// The bits are those of docs/arithmetic.md, with any number of threads and any
// instruction set that has a fused multiply-add.
//
// Sources: Hendrycks & Gimpel 2016, arXiv:1606.08415 (GELU, its approximations
// and SiLU); Shazeer 2020, arXiv:2002.05202 (gates).
//
// Example, gate and up being the halves of one tensor (N, 2 E):
//   const TensorView<float, 2> gate(both.data(), {N, E}, {2 * E, 1});
//   const TensorView<float, 2> up(both.data() + E, {N, E}, {2 * E, 1});
//   Status s = activate_gate(Activation::silu, gate, up, gate);
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Activation { gelu, gelu_tanh, silu, quick_gelu, relu };

// The elements of a row are contiguous; rows may be anywhere. y is x or does
// not overlap it. Errors, before anything is written: shape_mismatch;
// invalid_argument for a stride along E that is not 1, or an output in memory
// that it may not share; unsupported for a HEADWISE_TARGET that is not
// available.
Status activate(Activation activation, TensorView<const float, 2> x,
                TensorView<float, 2> y,
                const Executor& executor = Executor::default_executor());

// d_x from d_y and the x of activate(). d_x is x, is d_y, or overlaps neither.
// Errors as above.
Status activate_backward(
    Activation activation, TensorView<const float, 2> x,
    TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
    const Executor& executor = Executor::default_executor());

// y is gate, is up, or overlaps neither. Errors as above.
Status activate_gate(Activation activation, TensorView<const float, 2> gate,
                     TensorView<const float, 2> up, TensorView<float, 2> y,
                     const Executor& executor = Executor::default_executor());

// d_gate and d_up from d_y and what activate_gate() took. Each of them is gate,
// is up, is d_y, or overlaps none of the three; they do not overlap each other.
// Errors as above.
Status activate_gate_backward(
    Activation activation, TensorView<const float, 2> gate,
    TensorView<const float, 2> up, TensorView<const float, 2> d_y,
    TensorView<float, 2> d_gate, TensorView<float, 2> d_up,
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
