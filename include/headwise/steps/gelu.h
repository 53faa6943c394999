// An encoder step: the Gaussian error linear unit, element by element:
//
//   y = x * Phi(x) = x / 2 * (1 + erf(x / sqrt 2))
//
//   x  (N, E)  in
//   y  (N, E)  out; may be x itself
//
// Phi is the standard normal distribution: erf, not the approximation by tanh.
// Error at most 8.6e-8 * max(1, |x|), and at most 3.3e-7 of y for x >= -1
// (GeluTest.StaysNearTheFormulaInDouble). From 5.5 upwards y is x, from -10.65
// downwards it is 0; +inf gives +inf, -inf gives 0, NaN gives NaN. The bits are
// those of docs/arithmetic.md, with any number of threads and any instruction
// set that has a fused multiply-add.
//
// Backward, with d_y the gradient of a loss with respect to y:
//
//   d_x = d_y * (Phi(x) + x * phi(x)),   phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
//
//   d_y  (N, E)  in
//   d_x  (N, E)  out; may be d_y or x itself
//
// The factor on d_y has an error of at most 1.5e-7 and the right sign. Its
// relative error is at most 4.5e-7 for x >= -0.5; below -1, where the factor is
// negative and approaches 0, it is at most 1.7e-6 down to -3 and 1.4% down to
// -13 (GeluGradientTest.StaysNearTheFormulaInDouble). The factor is 1 at +inf
// and 0 from -13.22 downwards, including -inf. NaN in x or d_y gives NaN, but
// where d_y is 0, so is d_x, whatever x holds: NaN in padding does not spread.
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The elements of a row are contiguous; rows may be anywhere. y is x or does
// not overlap it. Errors: shape_mismatch; invalid_argument if the stride along
// E is not 1; unsupported for a HEADWISE_TARGET that is not available.
Status gelu(TensorView<const float, 2> x, TensorView<float, 2> y,
            const Executor& executor = Executor::default_executor());

// d_x from d_y and the x of gelu(). d_x is x, is d_y, or overlaps neither.
// Errors as above.
Status gelu_backward(TensorView<const float, 2> x,
                     TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
                     const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
