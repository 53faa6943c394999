// Tests of every activation on every instruction set, and the formulas of
// headwise/steps/activation.h in double.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include "headwise/base/tensor.h"
#include "headwise/steps/activation.h"
#include "headwise/steps/softmax.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kLargest = std::numeric_limits<float>::max();

inline constexpr Activation kActivations[] = {
    Activation::gelu, Activation::gelu_tanh, Activation::silu,
    Activation::quick_gelu, Activation::relu};

using ActivationCase = std::tuple<std::int64_t, Activation>;

inline std::string activation_case_name(
    const testing::TestParamInfo<ActivationCase>& param) {
  constexpr const char* kNames[] = {"gelu", "gelu_tanh", "silu", "quick_gelu",
                                    "relu"};
  return std::string(hwy::TargetName(std::get<0>(param.param))) + "_" +
         kNames[static_cast<int>(std::get<1>(param.param))];
}

class EveryActivation : public testing::TestWithParam<ActivationCase> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(std::get<0>(GetParam()));
  }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
  static Activation activation() { return std::get<1>(GetParam()); }
};

// p(x) of those that are x / (1 + exp(-p(x))), and its derivative.
struct Exponent {
  double p;
  double slope;
};

inline Exponent exponent_of(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_tanh: {
      const double root = std::sqrt(2 / std::numbers::pi);
      return {2 * root * (x + 0.044715 * x * x * x),
              2 * root * (1 + 3 * 0.044715 * x * x)};
    }
    case Activation::quick_gelu:
      return {1.702 * x, 1.702};
    default:
      return {x, 1};
  }
}

inline double activation_in_double(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::relu:
      return x > 0 ? x : 0;
    default:
      return x / (1 + std::exp(-exponent_of(activation, x).p));
  }
}

inline double derivative_in_double(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return std::erfc(-x / std::numbers::sqrt2) / 2 +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Activation::relu:
      return x > 0 ? 1 : 0;
    default: {
      const auto [p, slope] = exponent_of(activation, x);
      const double sigmoid = 1 / (1 + std::exp(-p));
      return sigmoid * (1 + x * slope / (1 + std::exp(p)));
    }
  }
}

// 4085 numbers of each power of 2 from 2^-126 on, and their negatives.
inline Tensor<float, 2> numbers_of_every_size() {
  constexpr std::uint32_t kStep = 2053;
  const std::uint32_t first = bits(0x1p-126f);
  const std::size_t count = (bits(kInfinity) - first) / kStep;
  auto x = Tensor<float, 2>::create({2, count}).value();
  for (std::size_t i = 0; i < count; ++i) {
    x(0, i) =
        std::bit_cast<float>(first + static_cast<std::uint32_t>(i) * kStep);
    x(1, i) = -x(0, i);
  }
  return x;
}

}  // namespace headwise::testing_support
