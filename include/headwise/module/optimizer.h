// Optimisers: how a parameter x moves once its gradient g is known, element by
// element, in step t = 1, 2, ... with learning rate lr and weight decay wd.
//
// SGD with momentum (as torch.optim.SGD):
//
//   g = g + wd * x
//   b = momentum * b + g          b before the first step: 0
//   x = x - lr * b
//
// AdamW (as torch.optim.AdamW): the decay is not part of the gradient.
//
//   m = beta1 * m + (1 - beta1) * g              before the first step: 0
//   v = beta2 * v + (1 - beta2) * g^2            before the first step: 0
//   x = (1 - lr * wd) * x
//       - lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// x, b, m and v are binary32; each is computed in binary64 and rounded once, so
// the bits are the same on every machine. beta^t is formed by squaring. An
// optimiser whose state was set goes on with the bits of one that never
// stopped.
//
// Source: Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2; Kingma & Ba
// 2015, arXiv:1412.6980.
//
// Example:
//   Optimizer optimizer = Optimizer::create(AdamWConfig{}).value();
//   optimizer.begin_step();
//   mha.update([&](std::string_view name, std::span<float> values) {
//     status = optimizer.update(name, values, gradient_of(name));
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct SgdConfig {
  double learning_rate = 1e-3;
  double momentum = 0;
  double weight_decay = 0;
  // Whether a gradient that holds NaN or infinity is an error.
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

// What an optimiser remembers of the steps before.
struct OptimizerState {
  std::uint64_t step = 0;  // how many there were
  // "momentum_buffer/NAME" (b) of SGD with momentum; "exp_avg/NAME" (m) and
  // "exp_avg_sq/NAME" (v) of AdamW, for each parameter NAME that was updated.
  std::map<std::string, Tensor<float, 1>> values;
};

class Optimizer {
 public:
  // Errors: invalid_argument for a number that is negative or not finite, or
  // for a beta that is not below 1.
  static Result<Optimizer> create(const SgdConfig& config);
  static Result<Optimizer> create(const AdamWConfig& config);

  void begin_step() { ++step_; }
  // Moves one parameter, each once a step. Errors, before anything is written:
  // invalid_argument before the first begin_step() and for the second update
  // in a step; shape_mismatch when the sizes differ from each other or from
  // those of the steps before; out_of_range for a gradient that is not finite
  // (the message says where); out_of_memory.
  Status update(std::string_view name, std::span<float> values,
                std::span<const float> gradient);

  std::uint64_t step() const { return step_; }
  // A copy. Errors: out_of_memory.
  Result<OptimizerState> state() const;
  // Errors, before anything is changed: invalid_argument for a name that this
  // optimiser has no use for, or for one of AdamW's two without the other;
  // shape_mismatch; out_of_memory.
  Status set_state(const OptimizerState& state);

 private:
  // What is remembered of one parameter.
  struct Memory {
    std::size_t size = 0;
    Tensor<float, 1> first;        // b, or m
    Tensor<float, 1> second;       // v
    std::uint64_t updated_in = 0;  // the last step
  };
  using Memories = std::map<std::string, Memory, std::less<>>;
  using Config = std::variant<SgdConfig, AdamWConfig>;

  explicit Optimizer(const Config& config) : config_(config) {}
  Status check(std::string_view name, std::span<const float> values,
               std::span<const float> gradient) const;
  Result<Memory> new_memory(std::size_t size) const;
  // The names of Memory::first and Memory::second in the state; "": not used.
  std::pair<std::string_view, std::string_view> kinds() const;
  Status check_pairs(const OptimizerState& state) const;

  Config config_;
  std::uint64_t step_ = 0;
  Memories memories_;
};

// Scales all gradients by one factor, so that the norm of all of them together
// is at most `max_norm`, and returns the norm that they had (as
// torch.nn.utils.clip_grad_norm_):
//
//   norm = sqrt(sum g^2)     in binary64, in order
//   g    = g * min(1, max_norm / (norm + 1e-6))
//
// Errors, before anything is written: invalid_argument for a max_norm that is
// not a positive number; out_of_range for a gradient that is not finite: the
// message says which and where.
Result<double> clip_gradient_norm(std::span<const std::span<float>> gradients,
                                  double max_norm);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
