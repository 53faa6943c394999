// Losses, and their gradients with respect to the output, with which a backward
// pass begins.
//
// cross_entropy, the mean over the N' rows whose target is not ignored:
//
//   loss           = 1/N' sum_n (log sum_c exp(logits[n,c]) -
//                                logits[n,targets[n]])
//   d_logits[n,c]  = 1/N' (softmax(logits[n])[c] - [c = targets[n]])
//
//   logits    (N, C)  in
//   targets   (N)     in   a class from 0 to C - 1, or kIgnoredTarget
//   d_logits  (N, C)  out  0 in ignored rows
//
// mean_squared_error, over the N elements of two tensors of the same shape:
//
//   loss          = 1/N sum (prediction - target)^2
//   d_prediction  = 2/N (prediction - target)
//
// Computed in binary64, with sums in order from the first element and without
// functions of the C library, so the bits are the same everywhere. NaN and
// infinity propagate to the loss.
//
// Example:
//   const CrossEntropy step = cross_entropy(logits, targets).value();
//   auto gradients = mha.backward(saved, d_output_of(step.d_logits)).value();
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The target of an ignored row (PyTorch's ignore_index).
inline constexpr std::int64_t kIgnoredTarget = -100;

struct CrossEntropy {
  double loss = 0;
  Tensor<float, 2> d_logits;
};

// Errors: shape_mismatch; out_of_range for a target that is not a class;
// invalid_argument if every row is ignored or there are no rows; out_of_memory.
Result<CrossEntropy> cross_entropy(TensorView<const float, 2> logits,
                                   TensorView<const std::int64_t, 1> targets);

// For tensors of rank 1 to 4.
template <std::size_t Rank>
struct MeanSquaredError {
  double loss = 0;
  Tensor<float, Rank> d_prediction;
};

// One overload per rank rather than a template, which would not convert its
// arguments to views. Errors: shape_mismatch; invalid_argument for tensors
// without elements; out_of_memory.
Result<MeanSquaredError<1>> mean_squared_error(
    TensorView<const float, 1> prediction, TensorView<const float, 1> target);
Result<MeanSquaredError<2>> mean_squared_error(
    TensorView<const float, 2> prediction, TensorView<const float, 2> target);
Result<MeanSquaredError<3>> mean_squared_error(
    TensorView<const float, 3> prediction, TensorView<const float, 3> target);
Result<MeanSquaredError<4>> mean_squared_error(
    TensorView<const float, 4> prediction, TensorView<const float, 4> target);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
