// An encoder's step: each row gets the mean 0 and the variance 1, then a scale
// and a shift of its own for each feature:
//
//   y[n,e] = (x[n,e] - mean[n]) / sqrt(var[n] + eps) * weight[e] + bias[e]
//   mean[n] = sum_e x[n,e] / E
//   var[n]  = sum_e (x[n,e] - mean[n])^2 / E
//
//   x         (N, E)  in
//   residual  (N, E)  in, of add_layer_norm(): x + residual stands for x
//   weight    (E)     the parameter LayerNorm.weight (gamma)
//   bias      (E)     the parameter LayerNorm.bias (beta)
//   y         (N, E)  out; may be x or residual itself
//
// The elements of a row lie side by side; rows may lie anywhere. The sums run
// as docs/arithmetic.md has them, so that a row's bits depend on that row
// alone: not on the rows beside it, the threads or the instruction set, those
// without fused multiply-add included. A row of equal elements gives the bias.
// NaN and infinity make their own row NaN and no other. A row whose squared
// deviations overflow (from about 1e19 on) is the bias; one whose sum does is
// NaN. On vectors of random numbers the error is a few 1e-7
// (LayerNormTest.StaysNearTheFormulaInDouble).
// Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4.
//
// Example:
//   LayerNormParams params{.weight = std::move(gamma), .bias =
//       std::move(beta)};
//   Status s = add_layer_norm(attended, x, params, x);  // x = LN(attended + x)
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"

namespace headwise {

struct LayerNormParams {
  Tensor<float, 1> weight;  // (E)
  Tensor<float, 1> bias;    // (E)
  double eps = 1e-12;       // BERT's
};

// y = layer norm of x. N or E of 0: nothing happens. y is x or does not overlap
// it. Errors: shape_mismatch; invalid_argument for a stride of E other than 1
// or an eps that binary32 cannot hold as a positive number; unsupported for a
// HEADWISE_TARGET that is not there.
Status layer_norm(TensorView<const float, 2> x, const LayerNormParams& params,
                  TensorView<float, 2> y,
                  const Executor& executor = Executor::default_executor());

// y = layer norm of x + residual. y is x, is residual, or overlaps neither.
// Errors as above.
Status add_layer_norm(TensorView<const float, 2> x,
                      TensorView<const float, 2> residual,
                      const LayerNormParams& params, TensorView<float, 2> y,
                      const Executor& executor = Executor::default_executor());

}  // namespace headwise
