// Optimisers: how step t = 1, 2, ... moves a parameter x with gradient g,
// element by element, with learning rate lr and weight decay wd.
//
// SGD with momentum (as torch.optim.SGD):
//
//   g = g + wd * x
//   b = momentum * b + g          b is 0 before the first step
//   x = x - lr * b
//
// AdamW (as torch.optim.AdamW): the decay is not part of the gradient.
//
//   m = beta1 * m + (1 - beta1) * g              0 before the first step
//   v = beta2 * v + (1 - beta2) * g^2            0 before the first step
//   x = (1 - lr * wd) * x
//       - lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// x, b, m and v are binary32; each is computed in binary64 and rounded once, so
// the bits are the same on every machine. beta^t is computed by squaring. An
// optimiser resumed with set_state() has the bits of one that never stopped.
//
// Source: Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2; Kingma & Ba
// 2015, arXiv:1412.6980.
//
// Example:
//   Optimizer optimizer = Optimizer::create(AdamWConfig{}).value();
//   std::map<std::string_view, std::span<const float>> by_name;
//   gradients.for_each([&](std::string_view name, std::span<const float> g) {
//     by_name[name] = g;
//   });
//   optimizer.begin_step();
//   Status s = mha.update([&](std::string_view name, std::span<float> values) {
//     return optimizer.update(name, values, by_name[name]);
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct SgdConfig {
  double learning_rate = 1e-3;
  double momentum = 0;
  double weight_decay = 0;
  // Whether a gradient with NaN or infinity is an error.
  bool finite_gradients = true;
};

struct AdamWConfig {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
  bool finite_gradients = true;  // as above
};

// What an optimiser remembers from step to step.
struct OptimizerState {
  std::uint64_t step = 0;  // the number of steps so far
  // "momentum_buffer/NAME" (b) for SGD with momentum; "exp_avg/NAME" (m) and
  // "exp_avg_sq/NAME" (v) for AdamW, for each parameter NAME that was updated.
  std::map<std::string, Tensor<float, 1>> values;
};

class Optimizer {
 public:
  // Errors: invalid_argument for a number that is negative or not finite, or
  // for a beta that is not below 1.
  static Result<Optimizer> create(const SgdConfig& config);
  static Result<Optimizer> create(const AdamWConfig& config);

  void begin_step();
  // Moves one parameter; call it once per parameter and step. Errors, before
  // anything is written: invalid_argument before the first begin_step() and for
  // a second update in one step; shape_mismatch if the sizes differ from each
  // other or from those of earlier steps; out_of_range for a gradient that is
  // not finite (the message says where); out_of_memory.
  Status update(std::string_view name, std::span<float> values,
                std::span<const float> gradient);

  std::uint64_t step() const;
  // A copy. Errors: out_of_memory.
  Result<OptimizerState> state() const;
  // Errors, before anything is changed: invalid_argument for a name that this
  // optimiser does not use, or for only one of AdamW's two; shape_mismatch;
  // out_of_memory.
  Status set_state(const OptimizerState& state);

 private:
  struct HEADWISE_HIDDEN State;

  explicit Optimizer(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

// Scales all gradients by one factor, so that their common norm is at most
// `max_norm`, and returns the norm before (as torch.nn.utils.clip_grad_norm_):
//
//   norm = sqrt(sum g^2)     in binary64, in order
//   g    = g * min(1, max_norm / (norm + 1e-6))
//
// Errors, before anything is written: invalid_argument for a max_norm that is
// not a positive number; out_of_range for a gradient that is not finite; the
// message says which and where.
Result<double> clip_gradient_norm(std::span<const std::span<float>> gradients,
                                  double max_norm);

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

namespace detail {
Result<double> squared_error(const TensorArg& prediction,
                             const TensorArg& target,
                             std::span<float> d_prediction);

template <std::size_t Rank>
Result<MeanSquaredError<Rank>> mean_squared_error(
    const TensorView<const float, Rank>& prediction,
    const TensorView<const float, Rank>& target) {
  HEADWISE_ASSIGN(auto d_prediction,
                  Tensor<float, Rank>::create(prediction.extents()));
  HEADWISE_ASSIGN(const double loss,
                  squared_error(prediction, target, d_prediction.elements()));
  return MeanSquaredError<Rank>{loss, std::move(d_prediction)};
}
}  // namespace detail

// One overload per rank rather than a template, which would not convert its
// arguments to views. Errors: shape_mismatch; invalid_argument for tensors
// without elements; out_of_memory.
#define HEADWISE_LOSS(Rank)                                      \
  inline Result<MeanSquaredError<Rank>> mean_squared_error(      \
      TensorView<const float, Rank> prediction,                  \
      TensorView<const float, Rank> target) {                    \
    return detail::mean_squared_error<Rank>(prediction, target); \
  }
HEADWISE_LOSS(1)
HEADWISE_LOSS(2)
HEADWISE_LOSS(3)
HEADWISE_LOSS(4)
#undef HEADWISE_LOSS

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
