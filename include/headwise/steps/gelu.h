// An encoder's step: the Gaussian error linear unit, element by element:
//
//   y = x * Phi(x) = x / 2 * (1 + erf(x / sqrt 2))
//
//   x  (N, E)  in
//   y  (N, E)  out; may be x itself
//
// Phi is the standard normal distribution: erf, not the approximation by tanh.
// Error at most 8.6e-8 * max(1, |x|), and at most 3.3e-7 of y for x >= -1
// (GeluTest.StaysNearTheFormulaInDouble). From 5.5 on y is x, from -10.65 down
// it is 0; +inf gives +inf, -inf gives 0, NaN gives NaN. The bits are those of
// docs/arithmetic.md on any threads and instruction set that has fused
// multiply-add.
//
// Backward, d_y being the gradient of a loss by y:
//
//   d_x = d_y * (Phi(x) + x * phi(x)),   phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//
//   d_y  (N, E)  in
//   d_x  (N, E)  out; may be d_y or x itself
//
// What d_y is multiplied by is off by at most 1.5e-7, by at most 4.5e-7 of
// itself for x >= -0.5, and has its sign; below -1, where it is negative and
// goes to 0, it is off by at most 1.7e-6 of itself down to -3 and 1.4% down to
// -13 (GeluGradientTest.StaysNearTheFormulaInDouble). It is 1 at +inf and 0
// from -13.22 down, -inf included. NaN in x or d_y gives NaN. But where d_y is
// 0, so is d_x, whatever x holds: padding that holds NaN stays where it is.
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The elements of a row lie side by side; rows may lie anywhere. y is x or does
// not overlap it. Errors: shape_mismatch; invalid_argument for a stride of E
// other than 1; unsupported for a HEADWISE_TARGET that is not there.
Status gelu(TensorView<const float, 2> x, TensorView<float, 2> y,
            const Executor& executor = Executor::default_executor());

// d_x of d_y, x being gelu()'s. d_x is x, is d_y, or overlaps neither. Errors
// as above.
Status gelu_backward(TensorView<const float, 2> x,
                     TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
                     const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
