#include "headwise/module/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "module/gradient_norm.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOptimizer = "optimizer";
constexpr std::string_view kMomentumBuffer = "momentum_buffer";
constexpr std::string_view kExpAvg = "exp_avg";
constexpr std::string_view kExpAvgSq = "exp_avg_sq";

using Config = std::variant<SgdConfig, AdamWConfig>;

// What is kept for one parameter.
struct Memory {
  std::size_t size = 0;
  Tensor<float, 1> first;        // b, or m
  Tensor<float, 1> second;       // v
  std::uint64_t updated_in = 0;  // the last step
};
using Memories = std::map<std::string, Memory, std::less<>>;

// The names of Memory::first and Memory::second in the state; empty: not used.
struct Kinds {
  std::string_view first;
  std::string_view second;
};

Kinds kinds_of(const Config& config) {
  if (const auto* const sgd = std::get_if<SgdConfig>(&config)) {
    return {sgd->momentum != 0 ? kMomentumBuffer : "", ""};
  }
  return {kExpAvg, kExpAvgSq};
}

Result<Memory> new_memory(const Kinds& kinds, std::size_t size) {
  HEADWISE_ASSIGN(auto first,
                  Tensor<float, 1>::create({kinds.first.empty() ? 0 : size}));
  HEADWISE_ASSIGN(auto second,
                  Tensor<float, 1>::create({kinds.second.empty() ? 0 : size}));
  return Memory{size, std::move(first), std::move(second)};
}

Status check_not_negative(std::string_view name, double number) {
  if (number >= 0 && number <= std::numeric_limits<double>::max()) {
    return ok();
  }
  return value_error(kOptimizer, name, number_text(number),
                     "a number from 0 on");
}

Status check_beta(std::string_view name, double number) {
  if (number >= 0 && number < 1) {
    return ok();
  }
  return value_error(kOptimizer, name, number_text(number),
                     "a number from 0 to less than 1");
}

// The first element that is NaN or infinite.
std::optional<std::size_t> first_not_finite(std::span<const float> values) {
  const auto found = std::ranges::find_if_not(
      values, [](float value) { return std::isfinite(value); });
  if (found == values.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - values.begin());
}

std::string gradient_of(std::string_view name) {
  return "gradients." + std::string(name);
}

// base^exponent, by the binary digits of the exponent: without the C library,
// and with the same bits whether a run was interrupted or not.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (double square = base; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result *= square;
    }
    square *= square;
  }
  return result;
}

void step_sgd(const SgdConfig& config, std::span<float> values,
              std::span<const float> gradient, std::span<float> buffer) {
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double x = values[n];
    double g = gradient[n] + config.weight_decay * x;
    if (!buffer.empty()) {
      buffer[n] = static_cast<float>(config.momentum * buffer[n] + g);
      g = buffer[n];
    }
    values[n] = static_cast<float>(x - config.learning_rate * g);
  }
}

void step_adamw(const AdamWConfig& config, std::uint64_t step,
                std::span<float> values, std::span<const float> gradient,
                std::span<float> exp_avg, std::span<float> exp_avg_sq) {
  const double kept = 1 - config.learning_rate * config.weight_decay;
  const double rate = config.learning_rate / (1 - power(config.beta1, step));
  const double correction = 1 - power(config.beta2, step);
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double g = gradient[n];
    exp_avg[n] =
        static_cast<float>(config.beta1 * exp_avg[n] + (1 - config.beta1) * g);
    exp_avg_sq[n] = static_cast<float>(config.beta2 * exp_avg_sq[n] +
                                       (1 - config.beta2) * (g * g));
    const double size = std::sqrt(exp_avg_sq[n] / correction) + config.epsilon;
    values[n] = static_cast<float>(kept * values[n] - rate * exp_avg[n] / size);
  }
}

// "exp_avg/w_q.weight" from its two parts, and back.
std::string joined_key(std::string_view kind, std::string_view name) {
  std::string key(kind);
  key += '/';
  key += name;
  return key;
}
std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  const std::size_t slash = std::min(key.find('/'), key.size());
  return {key.substr(0, slash), key.substr(std::min(slash + 1, key.size()))};
}

Message expected_keys(std::string_view first, std::string_view second) {
  if (first.empty()) {
    return "none";
  }
  const std::string one = joined_key(first, "NAME");
  return second.empty() ? one
                        : message("{} and {}", one, joined_key(second, "NAME"));
}

// Every name is one of this optimiser's, and both of AdamW's are there.
Status check_pairs(const Kinds& kinds, const OptimizerState& state) {
  const auto& [first, second] = kinds;
  for (const auto& [key, values] : state.values) {
    const auto [kind, name] = split_key(key);
    if (kind.empty() || name.empty() || (kind != first && kind != second)) {
      return argument_error(
          kOptimizer, "state.values",
          message("has {}, which this optimiser does not", key),
          expected_keys(first, second));
    }
    if (second.empty()) {
      continue;
    }
    const std::string other = joined_key(kind == first ? second : first, name);
    const auto found = state.values.find(other);
    if (found == state.values.end()) {
      return argument_error(kOptimizer, "state.values", message("has {}", key),
                            message("{} too", other));
    }
    HEADWISE_TRY(check_shape(kOptimizer, other, found->second.extents(),
                             "that of " + std::string(key), values.extents()));
  }
  return ok();
}

}  // namespace

struct Optimizer::State {
  Config config;
  std::uint64_t step = 0;
  Memories memories{};

  // Errors: those of Optimizer::update().
  Status check(std::string_view name, std::span<const float> values,
               std::span<const float> gradient) const;
};

Status Optimizer::State::check(std::string_view name,
                               std::span<const float> values,
                               std::span<const float> gradient) const {
  if (step == 0) {
    return value_error(kOptimizer, "step", "0", "begin_step() before update()");
  }
  HEADWISE_TRY(check_shape(kOptimizer, gradient_of(name), {{gradient.size()}},
                           "(elements)", {{values.size()}}));
  const bool finite = std::visit(
      [](const auto& of_kind) { return of_kind.finite_gradients; }, config);
  if (const auto place = finite ? first_not_finite(gradient) : std::nullopt) {
    return argument_error(
        kOptimizer, gradient_of(name) + "[" + std::to_string(*place) + "]",
        message("is {} in step {}", number_text(gradient[*place]), step),
        "a finite number", ErrorCode::out_of_range);
  }
  const auto known = memories.find(name);
  if (known == memories.end()) {
    return ok();
  }
  if (known->second.updated_in == step) {
    return value_error(kOptimizer, name, "updated already",
                       message("one update in step {}", step));
  }
  return check_shape(kOptimizer, name, {{values.size()}},
                     "(elements) of the steps before", {{known->second.size}});
}

Result<Optimizer> Optimizer::create(const SgdConfig& config) try {
  HEADWISE_TRY(check_not_negative("learning_rate", config.learning_rate));
  HEADWISE_TRY(check_not_negative("momentum", config.momentum));
  HEADWISE_TRY(check_not_negative("weight_decay", config.weight_decay));
  return Optimizer(std::make_unique<State>(State{config}));
} catch (...) {
  return caught_out_of_memory();
}

Result<Optimizer> Optimizer::create(const AdamWConfig& config) try {
  HEADWISE_TRY(check_not_negative("learning_rate", config.learning_rate));
  HEADWISE_TRY(check_beta("beta1", config.beta1));
  HEADWISE_TRY(check_beta("beta2", config.beta2));
  HEADWISE_TRY(check_not_negative("epsilon", config.epsilon));
  HEADWISE_TRY(check_not_negative("weight_decay", config.weight_decay));
  return Optimizer(std::make_unique<State>(State{config}));
} catch (...) {
  return caught_out_of_memory();
}

void Optimizer::begin_step() { ++state_->step; }

std::uint64_t Optimizer::step() const { return state_->step; }

Status Optimizer::update(std::string_view name, std::span<float> values,
                         std::span<const float> gradient) try {
  HEADWISE_TRY(state_->check(name, values, gradient));
  Memories& memories = state_->memories;
  auto found = memories.find(name);
  if (found == memories.end()) {
    HEADWISE_ASSIGN(auto memory,
                    new_memory(kinds_of(state_->config), values.size()));
    found = memories.emplace(name, std::move(memory)).first;
  }
  Memory& memory = found->second;
  const FloatEnvironment environment;
  if (const auto* const sgd = std::get_if<SgdConfig>(&state_->config)) {
    step_sgd(*sgd, values, gradient, memory.first.elements());
  } else {
    step_adamw(std::get<AdamWConfig>(state_->config), state_->step, values,
               gradient, memory.first.elements(), memory.second.elements());
  }
  memory.updated_in = state_->step;
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<OptimizerState> Optimizer::state() const try {
  OptimizerState state{state_->step, {}};
  const auto [first, second] = kinds_of(state_->config);
  for (const auto& [name, memory] : state_->memories) {
    for (const auto& [kind, values] :
         {std::pair{first, &memory.first}, {second, &memory.second}}) {
      if (kind.empty()) {
        continue;
      }
      HEADWISE_ASSIGN(auto copy, values->clone());
      state.values.emplace(joined_key(kind, name), std::move(copy));
    }
  }
  return state;
} catch (...) {
  return caught_out_of_memory();
}

Status Optimizer::set_state(const OptimizerState& state) try {
  const Kinds kinds = kinds_of(state_->config);
  HEADWISE_TRY(check_pairs(kinds, state));
  Memories memories;
  for (const auto& [key, values] : state.values) {
    HEADWISE_ASSIGN(auto copy, values.clone());
    const auto [kind, name] = split_key(key);
    Memory& memory = memories[std::string(name)];
    memory.size = copy.size();
    (kind == kinds.first ? memory.first : memory.second) = std::move(copy);
  }
  state_->memories = std::move(memories);
  state_->step = state.step;
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<double> clip_gradient_norm(std::span<const std::span<float>> gradients,
                                  double max_norm) try {
  constexpr std::string_view kClip = "clip_gradient_norm";
  if (!(max_norm > 0 && max_norm <= std::numeric_limits<double>::max())) {
    return value_error(kClip, "max_norm", number_text(max_norm),
                       "a number greater than 0");
  }
  const FloatEnvironment environment;
  double sum = 0;
  for (std::size_t n = 0; n < gradients.size(); ++n) {
    if (const auto place = first_not_finite(gradients[n])) {
      return value_error(kClip,
                         "gradients[" + std::to_string(n) + "][" +
                             std::to_string(*place) + "]",
                         number_text(gradients[n][*place]), "a finite number",
                         ErrorCode::out_of_range);
    }
    sum = add_squares(sum, gradients[n]);
  }
  const double norm = std::sqrt(sum);
  const double factor = clip_factor(norm, max_norm);
  if (factor < 1) {
    for (const std::span<float> gradient : gradients) {
      scale_gradient(gradient, factor);
    }
  }
  return norm;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
