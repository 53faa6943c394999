// Operators on single elements: Add, Sub, Mul, Div, Mod, Pow; Exp, Log, Sqrt,
// Reciprocal, Floor, Sin, Cos, Tanh, Sigmoid, Erf, Gelu; Neg, Abs, Relu, Clip;
// Where.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "onnx/broadcast.h"
#include "onnx/extremes.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/pairs.h"
#include "onnx/shown_text.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// `reals` for floating-point numbers, `wholes` for integers (as the bits of
// int64; overflow wraps).
template <class Reals, class Wholes>
Result<Outputs> binary(const NodeCall& node, Reals reals, Wholes wholes) {
  const DType dtype = node.in(0).dtype;
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_TRY(check_same_type(node));
  HEADWISE_ASSIGN(auto shape,
                  broadcast_shape(node, std::array<std::size_t, 2>{0, 1}));
  if (is_floating(dtype)) {
    return one(combined(node, std::move(shape), doubles_of(node.in(0)),
                        doubles_of(node.in(1)), dtype, reals));
  }
  return one(combined(node, std::move(shape), integers_of(node.in(0)),
                      integers_of(node.in(1)), dtype, wholes));
}

// Integers modulo 2^64.
template <class Combine>
auto wrapping(Combine combine) {
  return [combine](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(
        combine(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  };
}

template <class Combine>
Result<Outputs> arithmetic(const NodeCall& node) {
  return binary(node, Combine(), wrapping(Combine()));
}

Status check_divisors(const NodeCall& node) {
  if (is_integer(node.in(1).dtype) &&
      std::ranges::count(integers_of(node.in(1)), 0) > 0) {
    return node.input(1).error(ErrorCode::invalid_argument, "has a 0",
                               "divisors other than 0");
  }
  return ok();
}

// Modulo 2^64.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    result *= exponent % 2 == 1 ? base : 1;
  }
  return result;
}

Status check_exponents(const NodeCall& node) {
  if (node.in(1).dtype != DType::uint64) {
    for (const std::int64_t exponent : integers_of(node.in(1))) {
      if (exponent < 0) {
        return node.input(1).error(ErrorCode::invalid_argument,
                                   message("has {}", exponent),
                                   "at least 0 for integers");
      }
    }
  }
  return ok();
}

template <class Function>
Result<Outputs> unary(const NodeCall& node, Function function) {
  const Array& x = node.in(0);
  HEADWISE_TRY(check_floating(node, 0));
  std::vector<double> numbers = doubles_of(x);
  for (double& number : numbers) {
    number = function(number);
  }
  return one(array_from(numbers, x.shape, x.dtype));
}

template <auto function>
Result<Outputs> real(const NodeCall& node) {
  return unary(node, function);
}

// `wholes` for integers, as the bits of int64.
template <class Reals, class Wholes>
Result<Outputs> unary(const NodeCall& node, Reals reals, Wholes wholes) {
  const Array& x = node.in(0);
  if (!is_integer(x.dtype)) {
    return unary(node, reals);
  }
  std::vector<std::int64_t> numbers = integers_of(x);
  for (std::int64_t& number : numbers) {
    number = wholes(number);
  }
  return one(array_from(numbers, x.shape, x.dtype));
}

// Whether an integer, given as the bits of int64, is below 0.
bool is_negative(std::int64_t number, DType dtype) {
  return dtype != DType::uint64 && number < 0;
}

std::int64_t negated(std::int64_t number) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(number));
}

// The numbers within the second input, the lowest, and the third.
template <class Numbers>
Result<Outputs> clipped(const NodeCall& node, Numbers numbers_of_input) {
  auto numbers = numbers_of_input(node.in(0));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (node.has(i)) {
      const auto end = numbers_of_input(node.in(i)).front();
      for (auto& number : numbers) {
        number = extreme_of(number, end, /*largest=*/i == 1, node.in(0).dtype);
      }
    }
  }
  return one(array_from(numbers, node.in(0).shape, node.in(0).dtype));
}

Result<Outputs> run_div(const NodeCall& node) {
  HEADWISE_TRY(check_divisors(node));
  if (node.in(0).dtype == DType::uint64) {
    return arithmetic<std::divides<>>(node);
  }
  return binary(node, std::divides<>(), [](std::int64_t a, std::int64_t b) {
    // The lowest number by -1 wraps to itself.
    return b == -1 ? negated(a) : a / b;
  });
}

Result<Outputs> run_mod(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto as_dividend, node.flag("fmod"));
  const DType dtype = node.in(0).dtype;
  if (is_floating(dtype) && !as_dividend && node.opset() < 28) {
    return node.attribute("fmod").bad_data("is 0",
                                           "1 for floating-point numbers");
  }
  HEADWISE_TRY(check_divisors(node));
  const auto reals = [&](double a, double b) {
    const double rest = std::fmod(a, b);
    // NaN and a remainder of the dividend stay as they are.
    return as_dividend || std::isnan(rest) ? rest
           : rest == 0                     ? std::copysign(0.0, b)
           : (rest < 0) != (b < 0)         ? rest + b
                                           : rest;
  };
  if (dtype == DType::uint64) {
    return binary(node, reals, wrapping(std::modulus<>()));
  }
  return binary(node, reals, [&](std::int64_t a, std::int64_t b) {
    // The remainder of the lowest number by -1 would overflow.
    const std::int64_t rest = b == -1 ? 0 : a % b;
    const bool other_sign = rest != 0 && (rest < 0) != (b < 0);
    return other_sign && !as_dividend ? rest + b : rest;
  });
}

Result<Outputs> run_pow(const NodeCall& node) {
  const DType base = node.in(0).dtype;
  const DType exponent = node.in(1).dtype;
  HEADWISE_TRY(check_numbers(node, 0));
  HEADWISE_TRY(check_numbers(node, 1));
  HEADWISE_ASSIGN(auto shape,
                  broadcast_shape(node, std::array<std::size_t, 2>{0, 1}));
  if (is_integer(base) && is_integer(exponent)) {
    HEADWISE_TRY(check_exponents(node));
    return one(combined(node, std::move(shape), integers_of(node.in(0)),
                        integers_of(node.in(1)), base, wrapping(power)));
  }
  const std::vector<double> exponents = doubles_of(node.in(1));
  if (is_integer(base)) {
    return one(combined(
        node, std::move(shape), doubles_of(node.in(0)), exponents, base,
        [base](double a, double b) { return whole(std::pow(a, b), base); }));
  }
  return one(combined(node, std::move(shape), doubles_of(node.in(0)), exponents,
                      base, [](double a, double b) { return std::pow(a, b); }));
}

Result<Outputs> run_abs(const NodeCall& node) {
  return unary(
      node, [](double x) { return std::abs(x); },
      [&](std::int64_t x) {
        return is_negative(x, node.in(0).dtype) ? negated(x) : x;
      });
}

Result<Outputs> run_relu(const NodeCall& node) {
  return unary(
      node, [](double x) { return x < 0 ? 0 : x; },
      [&](std::int64_t x) { return is_negative(x, node.in(0).dtype) ? 0 : x; });
}

Result<Outputs> run_clip(const NodeCall& node) {
  HEADWISE_TRY(check_numbers(node));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (node.has(i)) {
      HEADWISE_TRY(check_same_type(node, i));
      HEADWISE_TRY(check_one_element(node, i));
    }
  }
  return is_floating(node.in(0).dtype) ? clipped(node, doubles_of)
                                       : clipped(node, integers_of);
}

Result<Outputs> run_neg(const NodeCall& node) {
  return unary(
      node, [](double x) { return -x; }, negated);
}

Result<Outputs> run_gelu(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto kind, node.text("approximate", "none"));
  if (kind == "none") {
    return unary(node, [](double x) {
      return 0.5 * x * (1 + std::erf(x * std::numbers::sqrt2 / 2));
    });
  }
  if (kind == "tanh") {
    const double factor = std::sqrt(2 * std::numbers::inv_pi);
    return unary(node, [factor](double x) {
      return 0.5 * x * (1 + std::tanh(factor * (x + 0.044715 * x * x * x)));
    });
  }
  return node.attribute("approximate")
      .bad_data(message("is {}", shown(kind)), "none or tanh");
}

Result<Outputs> run_where(const NodeCall& node) {
  HEADWISE_TRY(check_type(node, 0, DType::boolean));
  HEADWISE_TRY(check_type(node, 2, node.in(1).dtype));
  HEADWISE_ASSIGN(auto shape,
                  broadcast_shape(node, std::array<std::size_t, 3>{0, 1, 2}));
  // The third input, and over it the second where the first is true.
  HEADWISE_ASSIGN(
      auto result,
      gathered(node.in(2), shape, broadcast_strides(node.in(2).shape, shape)));
  const auto flags = broadcast_strides(node.in(0).shape, shape);
  const auto steps = broadcast_strides(node.in(1).shape, shape);
  const std::size_t item = size_of(result.dtype);
  std::byte* out = result.data.data();
  for (Odometer at(shape); !at.done(); at.next(), out += item) {
    if (node.in(0).data[at.offset(flags)] != std::byte{0}) {
      std::copy_n(node.in(1).data.data() + at.offset(steps) * item, item, out);
    }
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OnnxOperator> elementwise_operators() {
  return {
      {"Abs", 13, 1, 1, 1, {}, run_abs},
      {"Add", 13, 2, 2, 1, {}, arithmetic<std::plus<>>},
      {"Clip", 13, 1, 3, 1, {}, run_clip},
      {"Cos", 13, 1, 1, 1, {}, real<[](double x) { return std::cos(x); }>},
      {"Div", 13, 2, 2, 1, {}, run_div},
      {"Erf", 13, 1, 1, 1, {}, real<[](double x) { return std::erf(x); }>},
      {"Exp", 13, 1, 1, 1, {}, real<[](double x) { return std::exp(x); }>},
      {"Floor", 13, 1, 1, 1, {}, real<[](double x) { return std::floor(x); }>},
      {"Gelu", 20, 1, 1, 1, {"approximate"}, run_gelu},
      {"Log", 13, 1, 1, 1, {}, real<[](double x) { return std::log(x); }>},
      {"Mod", 13, 2, 2, 1, {"fmod"}, run_mod},
      {"Mul", 13, 2, 2, 1, {}, arithmetic<std::multiplies<>>},
      {"Neg", 13, 1, 1, 1, {}, run_neg},
      {"Pow", 13, 2, 2, 1, {}, run_pow},
      {"Reciprocal", 13, 1, 1, 1, {}, real<[](double x) { return 1 / x; }>},
      {"Relu", 13, 1, 1, 1, {}, run_relu},
      {"Sigmoid", 13, 1, 1, 1, {}, real<[](double x) {
         return 1 / (1 + std::exp(-x));
       }>},
      {"Sin", 13, 1, 1, 1, {}, real<[](double x) { return std::sin(x); }>},
      {"Sqrt", 13, 1, 1, 1, {}, real<[](double x) { return std::sqrt(x); }>},
      {"Sub", 13, 2, 2, 1, {}, arithmetic<std::minus<>>},
      {"Tanh", 13, 1, 1, 1, {}, real<[](double x) { return std::tanh(x); }>},
      {"Where", 13, 3, 3, 1, {}, run_where},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
