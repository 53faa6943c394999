// An encoder step: each row is scaled to mean 0 and variance 1, then each
// feature gets its own scale and shift:
//
//   y[n,e] = (x[n,e] - mean[n]) / sqrt(var[n] + eps) * weight[e] + bias[e]
//   mean[n] = sum_e x[n,e] / E
//   var[n]  = sum_e (x[n,e] - mean[n])^2 / E
//
//   x         (N, E)  in
//   residual  (N, E)  in, only add_layer_norm(): x is then x + residual
//   weight    (E)     the parameter LayerNorm.weight (gamma)
//   bias      (E)     the parameter LayerNorm.bias (beta)
//   y         (N, E)  out; may be x or residual itself
//
// The elements of a row are contiguous; rows may be anywhere. The sums have the
// order of docs/arithmetic.md, so that a row's bits depend only on that row:
// not on other rows, the threads or the instruction set, even one without a
// fused multiply-add. A row of equal elements gives the bias. NaN and infinity
// make their own row NaN and no other. A row whose squared deviations overflow
// (from about 1e19) gives the bias; one whose sum overflows is NaN. On vectors
// of random numbers the error is a few 1e-7
// (LayerNormTest.StaysNearTheFormulaInDouble).
// Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4; Zhang &
// Sennrich 2019, arXiv:1910.07467, equation 4 (RMS).
//
// Backward, with d_y the gradient of a loss with respect to y, rate = 1 /
// sqrt(var + eps), z = (x - mean) * rate and g = d_y * weight:
//
//   d_x[n,e]    = rate[n] * (g[n,e] - a[n] - z[n,e] * b[n])
//   a[n]        = sum_e g[n,e] / E
//   b[n]        = sum_e g[n,e] * z[n,e] / E
//   d_weight[e] = sum_n d_y[n,e] * z[n,e]
//   d_bias[e]   = sum_n d_y[n,e]
//
//   d_y  (N, E)  in
//   d_x  (N, E)  out; may be d_y itself
//
// The sums over the rows run in blocks of 128 tokens of one sequence; a row
// whose d_y is all zero is left out and has a d_x of 0, whatever its x holds.
// So padding, packing and threads change no bit.
//
// Example:
//   LayerNormParams params{.weight = std::move(gamma),
//                          .bias = std::move(beta)};
//   Status s = add_layer_norm(attended, x, params, x);  // x = LN(attended + x)
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LayerNormParams {
  Tensor<float, 1> weight;  // (E)
  Tensor<float, 1> bias;    // (E)
  double eps = 1e-12;       // BERT's
  // false: an RMS norm, which takes 0 for the mean.
  bool centred = true;
};

// y = layer norm of x. If N or E is 0, nothing happens. y is x or does not
// overlap it. Errors: shape_mismatch; invalid_argument if the stride along E is
// not 1, or for an eps that is not a positive number in binary32; unsupported
// for a HEADWISE_TARGET that is not available.
Status layer_norm(TensorView<const float, 2> x, const LayerNormParams& params,
                  TensorView<float, 2> y,
                  const Executor& executor = Executor::default_executor());

// y = layer norm of x + residual. y is x, is residual, or overlaps neither.
// Errors as above.
Status add_layer_norm(TensorView<const float, 2> x,
                      TensorView<const float, 2> residual,
                      const LayerNormParams& params, TensorView<float, 2> y,
                      const Executor& executor = Executor::default_executor());

struct LayerNormGradients {
  Tensor<float, 1> weight;  // (E)
  Tensor<float, 1> bias;    // (E)
};

// d_x (N, E) from d_y (N, E), and the parameters' gradients. x (N, E) is what
// was normalised: for add_layer_norm() it is x + residual, both of which have
// the gradient d_x. d_x is d_y or overlaps neither x nor d_y. `offsets`
// (sequences + 1): where the sequences begin among the rows; no view: the rows
// are one sequence. Errors as above; out_of_range for wrong offsets;
// out_of_memory, for the gradients and the sums of at most 256 blocks.
Result<LayerNormGradients> layer_norm_backward(
    TensorView<const float, 2> x, const LayerNormParams& params,
    TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
    TensorView<const std::int64_t, 1> offsets = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
