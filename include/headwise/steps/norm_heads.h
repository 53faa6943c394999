// The queries or the keys of a call, normalised: between the projections and
// the rotation by positions (QK norm).
//
//   x  (B, L, H, D)  in
//   y  (B, L, H, D)  out  may be x itself
//
//   rms    y[e] = x[e] / sqrt(mean(x^2) + eps) * weight[e]
//   layer  y[e] = (x[e] - mean(x)) / sqrt(var(x) + eps) * weight[e] + bias[e]
//
// where mean and variance are those of the D features of a head or, for
// NormOver::projection, of the H * D features of a token. The parameters of all
// heads are the same D numbers (NormOver::head) or H * D, head by head. With
// plus_one the factor is 1 + weight[e].
//
//   kind, over          models
//   rms, head           Qwen 3; Gemma 3 with plus_one
//   rms, projection     OLMo 2
//   layer, head         Flax (normalize_qk), Persimmon
//   layer, each_head    Cohere Command R
//
// The sums have the order of docs/arithmetic.md, those of layer normalisation:
// a row's bits depend only on that row, on every instruction set. NaN and
// infinity make their own row NaN and no other.
//
// Backward as for layer normalisation (layer_norm.h), for rms without the terms
// of the mean. The gradients of the parameters are summed over the tokens in
// blocks of 128 of one sequence and, where all heads share them, over the heads
// of each token in order. A row whose d_y is all zero is left out and has a d_x
// of 0, whatever its x holds: padding and packing change no bit.
//
// Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4 (rms); Ba, Kiros
// & Hinton 2016, arXiv:1607.06450 (layer); Henry et al. 2020, arXiv:2010.04245
// (of queries and keys).
//
// Example:
//   HeadNormParams params{.weight = std::move(gamma)};  // (D)
//   Status s = norm_heads({.kind = NormKind::rms}, params, q, q);
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class NormKind { rms, layer };

// What is normalised at once, and how many parameters there are.
enum class NormOver {
  head,        // a head's features; D parameters, the same for all heads
  each_head,   // a head's features; H * D parameters
  projection,  // all features of a token; H * D parameters
};

struct QkNorm {
  NormKind kind = NormKind::rms;
  double eps = 1e-6;
  NormOver over = NormOver::head;
  bool plus_one = false;  // the factor is 1 + weight
  bool bias = false;      // NormKind::layer only
};

struct HeadNormParams {
  Tensor<float, 1> weight;
  Tensor<float, 1> bias{};  // as many, or none
};

// QkNorm::bias is not read: `params` says it. The features of a head are
// contiguous, for NormOver::projection those of a token. Errors, before
// anything is written: shape_mismatch; invalid_argument for a stride along D
// that is not 1, an eps that is not a positive number in binary32, a bias of an
// RMS norm, or a y that overlaps x without being x; unsupported for a
// HEADWISE_TARGET that is not available; out_of_memory.
Status norm_heads(const QkNorm& norm, const HeadNormParams& params,
                  TensorView<const float, 4> x, TensorView<float, 4> y,
                  const Executor& executor = Executor::default_executor());

struct HeadNormGradients {
  Tensor<float, 1> weight;
  Tensor<float, 1> bias{};  // empty without one
};

// d_x (B, L, H, D) from d_y, and the parameters' gradients. x is what was
// normalised. d_x is d_y or overlaps neither x nor d_y. `offsets` (sequences +
// 1), for a ragged batch: where the sequences begin in the one row of tokens.
// Errors as above, and those of Offsets::check.
Result<HeadNormGradients> norm_heads_backward(
    const QkNorm& norm, const HeadNormParams& params,
    TensorView<const float, 4> x, TensorView<const float, 4> d_y,
    TensorView<float, 4> d_x, TensorView<const std::int64_t, 1> offsets = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
