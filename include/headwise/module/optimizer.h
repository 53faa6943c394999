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

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
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
  struct State;
  struct Delete {
    void operator()(State* state) const;
  };

  explicit Optimizer(std::unique_ptr<State, Delete> state)
      : state_(std::move(state)) {}

  std::unique_ptr<State, Delete> state_;
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

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
