// Operators that ONNX Runtime's optimiser writes around attention
// (com.microsoft): Gelu, BiasGelu, FastGelu, QuickGelu, SkipLayerNormalization
// and SkipSimplifiedLayerNormalization. They compute in double and round once.
#include <cmath>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "onnx/broadcast.h"
#include "onnx/contrib_operators.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Adds an input that is broadcast to the first one, where it is given.
Status add_input(const NodeCall& node, std::size_t input,
                 std::vector<double>& sums) {
  if (!node.has(input)) {
    return ok();
  }
  HEADWISE_TRY(check_same_type(node, input));
  const auto& shape = node.in(0).shape;
  const auto& given = node.in(input).shape;
  if (!broadcasts_to(given, shape)) {
    return node.wrong_shape(
        input, message("axes that are broadcast to {}", shape_text(shape)));
  }
  const auto steps = broadcast_strides(given, shape);
  const std::vector<double> added = doubles_of(node.in(input));
  std::size_t n = 0;
  for (Odometer at(shape); !at.done(); at.next(), ++n) {
    sums[n] += added[at.offset(steps)];
  }
  return ok();
}

template <class Function>
Result<Outputs> activated(const NodeCall& node, Function function) {
  HEADWISE_TRY(check_floating(node, 0));
  std::vector<double> numbers = doubles_of(node.in(0));
  HEADWISE_TRY(add_input(node, 1, numbers));
  for (double& number : numbers) {
    number = function(number);
  }
  return one(array_from(numbers, node.in(0).shape, node.in(0).dtype));
}

// In place, along the last axis. `centred`: the mean is subtracted.
void normalise_sum(std::vector<double>& numbers, std::size_t length,
                   double epsilon, bool centred) {
  const auto count = static_cast<double>(length);
  for (std::size_t first = 0; first < numbers.size(); first += length) {
    const std::span<double> row = std::span(numbers).subspan(first, length);
    double mean = 0;
    for (const double x : row) {
      mean += centred ? x / count : 0;
    }
    double square = 0;
    for (double& x : row) {
      x -= mean;
      square += x * x / count;
    }
    for (double& x : row) {
      x /= std::sqrt(square + epsilon);
    }
  }
}

// inputs: input, skip, gamma, then beta where the mean is subtracted, then the
// bias that is added to the sum. Outputs: the result, two that are for training
// only, the sum.
Result<Outputs> normalised_sum(const NodeCall& node, bool centred) {
  HEADWISE_TRY(check_floating(node, 0));
  for (const std::size_t output : {std::size_t{1}, std::size_t{2}}) {
    if (node.wants(output)) {
      return node.subject().error(ErrorCode::unsupported,
                                  "has outputs that are for training",
                                  "the output and the sum");
    }
  }
  const Array& input = node.in(0);
  if (input.shape.empty()) {
    return node.wrong_shape(0, "at least 1 axis");
  }
  HEADWISE_ASSIGN(const auto epsilon, node.number("epsilon"));
  std::vector<double> sums = doubles_of(input);
  HEADWISE_TRY(add_input(node, 1, sums));
  HEADWISE_TRY(add_input(node, centred ? 4 : 3, sums));
  std::vector<double> numbers = sums;
  normalise_sum(numbers, input.shape.back(), epsilon.value_or(1e-12F), centred);
  HEADWISE_TRY(check_same_type(node, 2));
  HEADWISE_TRY(check_shape_of(node, 2, {input.shape.back()}));
  const std::vector<double> gamma = doubles_of(node.in(2));
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    numbers[n] *= gamma[n % gamma.size()];
  }
  if (centred) {
    HEADWISE_TRY(add_input(node, 3, numbers));
  }
  HEADWISE_ASSIGN(auto output, array_from(numbers, input.shape, input.dtype));
  HEADWISE_ASSIGN(auto sum, array_from(sums, input.shape, input.dtype));
  Outputs outputs(4);
  outputs[0] = std::move(output);
  outputs[3] = std::move(sum);
  return outputs;
}

}  // namespace

// Also Gelu, without a bias.
Result<Outputs> run_bias_gelu(const NodeCall& node) {
  return activated(node, [](double x) {
    return 0.5 * x * (1 + std::erf(x * std::numbers::sqrt2 / 2));
  });
}

Result<Outputs> run_fast_gelu(const NodeCall& node) {
  const double factor = std::sqrt(2 * std::numbers::inv_pi);
  return activated(node, [factor](double x) {
    return 0.5 * x * (1 + std::tanh(factor * (x + 0.044715 * x * x * x)));
  });
}

Result<Outputs> run_quick_gelu(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto alpha, node.number("alpha"));
  const double factor = alpha.value_or(1.702F);
  return activated(
      node, [factor](double x) { return x / (1 + std::exp(-factor * x)); });
}

Result<Outputs> run_skip_layer_normalization(const NodeCall& node) {
  return normalised_sum(node, /*centred=*/true);
}

Result<Outputs> run_skip_rms_normalization(const NodeCall& node) {
  return normalised_sum(node, /*centred=*/false);
}

}  // namespace headwise::inline HEADWISE_ABI
