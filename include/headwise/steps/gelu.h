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
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"

namespace headwise {

// The elements of a row lie side by side; rows may lie anywhere. y is x or does
// not overlap it. Errors: shape_mismatch; invalid_argument for a stride of E
// other than 1; unsupported for a HEADWISE_TARGET that is not there.
Status gelu(TensorView<const float, 2> x, TensorView<float, 2> y,
            const Executor& executor = Executor::default_executor());

}  // namespace headwise
