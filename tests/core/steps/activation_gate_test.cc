// Gated activations, f(gate) up, and their gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "activation_case.h"
#include "headwise/steps/activation.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

struct GateGradients {
  Tensor<float, 2> d_gate;
  Tensor<float, 2> d_up;
};

class ActivationGateTest : public EveryActivation {
 protected:
  static Tensor<float, 2> gated(
      TensorView<const float, 2> gate, TensorView<const float, 2> up,
      const Executor& executor = Executor::default_executor()) {
    auto y = filled<float, 2>(gate.extents(), -7);
    EXPECT_TRUE(activate_gate(activation(), gate, up, y, executor));
    return y;
  }
  static GateGradients gradients(
      TensorView<const float, 2> gate, TensorView<const float, 2> up,
      TensorView<const float, 2> d_y,
      const Executor& executor = Executor::default_executor()) {
    auto d_gate = filled<float, 2>(gate.extents(), -7);
    auto d_up = filled<float, 2>(gate.extents(), -7);
    EXPECT_TRUE(activate_gate_backward(activation(), gate, up, d_y, d_gate,
                                       d_up, executor));
    return {std::move(d_gate), std::move(d_up)};
  }
  static void expect_gradients(const GateGradients& got,
                               const GateGradients& want) {
    EXPECT_TRUE(same_bits(got.d_gate, want.d_gate));
    EXPECT_TRUE(same_bits(got.d_up, want.d_up));
  }
};

TEST_P(ActivationGateTest, StaysNearTheFormulaInDouble) {
  const auto gate = uniform<2>({9, 4001}, 131, -20, 20);
  const auto up = uniform<2>(gate.extents(), 132, -3, 3);
  const auto d_y = uniform<2>(gate.extents(), 133, -3, 3);
  const auto y = gated(gate, up);
  const auto [d_gate, d_up] = gradients(gate, up, d_y);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double at = gate.data()[i];
    const double u = up.data()[i];
    const double d = d_y.data()[i];
    const double f = activation_in_double(activation(), at);
    const double slope = derivative_in_double(activation(), at);
    // The header's errors of f and f', and a rounding for each product.
    const double of_f = 9e-8 * std::max(1.0, std::abs(at));
    const double of_f_up = of_f + 0x1p-24 * std::abs(f);
    const double of_slope = 1.5e-7 + 0x1p-23 * std::abs(slope);
    ASSERT_NEAR(y.data()[i], f * u, of_f_up * std::abs(u)) << at;
    ASSERT_NEAR(d_up.data()[i], f * d, of_f_up * std::abs(d)) << at;
    ASSERT_NEAR(d_gate.data()[i], slope * u * d,
                of_slope * std::abs(u) * std::abs(d))
        << at;
  }
}

// Of an element of the gate and one of up, all that are special.
TEST_P(ActivationGateTest, IsTheProductOfTheTwo) {
  const std::vector<float> ends{0,          -0.0f, 1,     -1,       kInfinity,
                                -kInfinity, kNaN,  -kNaN, kLargest, 1e-40f};
  auto gate = filled<float, 2>({10, 10}, 0);
  auto up = filled<float, 2>({10, 10}, 0);
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < 10; ++j) {
      gate(i, j) = ends[i];
      up(i, j) = ends[j];
    }
  }
  auto f = clone(gate);
  ASSERT_TRUE(activate(activation(), f, f));
  const auto y = gated(gate, up);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const float of_up = std::abs(up.data()[i]) < 0x1p-126f ? 0 : up.data()[i];
    const float want = f.data()[i] * of_up;
    EXPECT_TRUE(std::isnan(want) ? bits(y.data()[i]) == kNaNBits
                                 : y.data()[i] == want)
        << gate.data()[i] << ", " << up.data()[i] << ": " << y.data()[i];
  }
}

TEST_P(ActivationGateTest, GradientsAreThoseOfTheActivation) {
  const auto gate = uniform<2>({3, 70}, 134, -5, 5);
  const auto d_y = uniform<2>({3, 70}, 135);
  const auto ones = filled<float, 2>({3, 70}, 1);
  auto want = filled<float, 2>({3, 70}, -7);
  ASSERT_TRUE(activate_backward(activation(), gate, d_y, want));
  EXPECT_TRUE(same_bits(gradients(gate, ones, d_y).d_gate, want));
  EXPECT_TRUE(same_bits(gradients(gate, ones, d_y).d_up, gated(gate, d_y)));
}

// A large up and a large gradient where the derivative is 0.
TEST_P(ActivationGateTest, GradientOfAClosedGateIsZero) {
  const auto gate = filled<float, 2>({1, 1}, -1000);
  const auto large = filled<float, 2>({1, 1}, 1e30f);
  const auto got = gradients(gate, large, large);
  EXPECT_EQ(got.d_gate(0, 0), 0);
  EXPECT_EQ(got.d_up(0, 0), 0);
}

TEST_P(ActivationGateTest, WithoutGradientIsZeroWhateverElseThereIs) {
  for (const float nothing : {0.0f, -0.0f, 1e-40f}) {
    const auto x = tensor_of<float, 2>(
        {1, 7}, {kNaN, -kNaN, kInfinity, -kInfinity, -3, 0, 2});
    const auto y = tensor_of<float, 2>(
        {1, 7}, {2, kInfinity, -kNaN, 0, kNaN, -kInfinity, kNaN});
    const auto d_y = filled<float, 2>({1, 7}, nothing);
    const auto zero = filled<float, 2>({1, 7}, 0);
    const auto got = gradients(x, y, d_y);
    EXPECT_TRUE(same_bits(got.d_gate, zero));
    EXPECT_TRUE(same_bits(got.d_up, zero));
  }
}

TEST_P(ActivationGateTest, NaNStaysWhereItIs) {
  const auto gate = uniform<2>({2, 37}, 136);
  const auto up = uniform<2>({2, 37}, 137);
  const auto d_y = uniform<2>({2, 37}, 138);
  const auto y = gated(gate, up);
  const auto want = gradients(gate, up, d_y);
  for (const std::size_t place : {0u, 20u, 36u}) {
    const auto with_nan = [place](const Tensor<float, 2>& x, float nan = kNaN) {
      auto with = clone(x);
      with(1, place) = nan;
      return with;
    };
    const auto in_gate = with_nan(gate, -kNaN);
    const auto in_up = with_nan(up, -kNaN);
    const auto in_d_y = with_nan(d_y, -kNaN);
    EXPECT_TRUE(same_bits(gated(in_gate, up), with_nan(y)));
    EXPECT_TRUE(same_bits(gated(gate, in_up), with_nan(y)));
    const GateGradients both{with_nan(want.d_gate), with_nan(want.d_up)};
    expect_gradients(gradients(in_gate, up, d_y), both);
    expect_gradients(gradients(gate, up, in_d_y), both);
    expect_gradients(gradients(gate, in_up, d_y),
                     {with_nan(want.d_gate), clone(want.d_up)});
  }
}

TEST_P(ActivationGateTest, InPlaceAndOnAnyNumberOfThreadsItHasTheSameBits) {
  const auto gate = uniform<2>({301, 389}, 139, -5, 5);  // enough to be spread
  const auto up = uniform<2>({301, 389}, 140);
  const auto d_y = uniform<2>({301, 389}, 141);
  const Executor alone = Executor::with_threads(1).value();
  const auto y = gated(gate, up, alone);
  const auto want = gradients(gate, up, d_y, alone);
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    auto in_gate = clone(gate);
    auto in_up = clone(up);
    EXPECT_TRUE(activate_gate(activation(), in_gate, up, in_gate, executor));
    EXPECT_TRUE(activate_gate(activation(), gate, in_up, in_up, executor));
    EXPECT_TRUE(same_bits(in_gate, y)) << threads << " threads";
    EXPECT_TRUE(same_bits(in_up, y)) << threads << " threads";
    // Each gradient in its own input, in the other's, and in d_y.
    in_gate = clone(gate);
    in_up = clone(up);
    EXPECT_TRUE(activate_gate_backward(activation(), in_gate, in_up, d_y,
                                       in_gate, in_up, executor));
    expect_gradients({std::move(in_gate), std::move(in_up)}, want);
    in_gate = clone(gate);
    in_up = clone(up);
    EXPECT_TRUE(activate_gate_backward(activation(), in_gate, in_up, d_y, in_up,
                                       in_gate, executor));
    expect_gradients({std::move(in_up), std::move(in_gate)}, want);
    auto in_d_y = clone(d_y);
    auto d_up = clone(up);
    EXPECT_TRUE(activate_gate_backward(activation(), gate, up, in_d_y, in_d_y,
                                       d_up, executor));
    expect_gradients({std::move(in_d_y), std::move(d_up)}, want);
  }
}

// Gate and up as a projection computes them, side by side.
TEST_P(ActivationGateTest, TheTwoMayBeHalvesOfOneTensor) {
  const auto both = uniform<2>({5, 42}, 142, -4, 4);
  const auto d_y = uniform<2>({5, 21}, 143);
  const auto half = [](Tensor<float, 2>& x, std::size_t first) {
    return TensorView<float, 2>(&x(0, first), {5, 21}, {42, 1});
  };
  auto gate = filled<float, 2>({5, 21}, 0);
  auto up = filled<float, 2>({5, 21}, 0);
  for (std::size_t n = 0; n < 5; ++n) {
    std::copy_n(&both(n, 0), 21, &gate(n, 0));
    std::copy_n(&both(n, 21), 21, &up(n, 0));
  }
  const auto y = gated(gate, up);
  const auto want = gradients(gate, up, d_y);
  auto in_place = clone(both);
  EXPECT_TRUE(same_bits(gated(half(in_place, 0), half(in_place, 21)), y));
  ASSERT_TRUE(activate_gate(activation(), half(in_place, 0), half(in_place, 21),
                            half(in_place, 0)));
  auto d_both = clone(both);
  ASSERT_TRUE(activate_gate_backward(activation(), half(d_both, 0),
                                     half(d_both, 21), d_y, half(d_both, 0),
                                     half(d_both, 21)));
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_TRUE(same_bits({&in_place(n, 0), 21}, {&y(n, 0), 21}));
    EXPECT_TRUE(same_bits({&in_place(n, 21), 21}, {&up(n, 0), 21}));
    EXPECT_TRUE(same_bits({&d_both(n, 0), 21}, {&want.d_gate(n, 0), 21}));
    EXPECT_TRUE(same_bits({&d_both(n, 21), 21}, {&want.d_up(n, 0), 21}));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ActivationGateTest,
                         testing::Combine(testing::ValuesIn(targets()),
                                          testing::ValuesIn(kActivations)),
                         activation_case_name);

TEST(ActivationGateSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    EXPECT_TRUE(activate_gate(Activation::silu, x, x, x));
    auto y = clone(x);
    EXPECT_TRUE(activate_gate_backward(Activation::silu, x, y, x, x, y));
  }
}

// What a gate's functions take, one of which may be wrong.
struct GateArguments {
  TensorView<const float, 2> gate;
  TensorView<const float, 2> up;
  TensorView<const float, 2> d_y;
  TensorView<float, 2> d_gate;
  TensorView<float, 2> d_up;

  Status forward() const {
    return activate_gate(Activation::silu, gate, up, d_gate);
  }
  Status backward() const {
    return activate_gate_backward(Activation::silu, gate, up, d_y, d_gate,
                                  d_up);
  }
};

class ActivationGateErrorsTest : public testing::Test {
 protected:
  GateArguments arguments() {
    return {input_.view(), input_.view(), input_.view(), a_.view(), b_.view()};
  }
  // As wide, but one row less, from row `n` on.
  static TensorView<float, 2> rows(Tensor<float, 2>& of, std::size_t n) {
    return {&of(n, 0), {7, 8}, {8, 1}};
  }

  Tensor<float, 2> input_ = filled<float, 2>({8, 8}, 0.5f);
  Tensor<float, 2> a_ = filled<float, 2>({8, 8}, -7);
  Tensor<float, 2> b_ = filled<float, 2>({8, 8}, -7);
};

TEST_F(ActivationGateErrorsTest, NameTheArgument) {
  const TensorView<float, 2> fewer(b_.data(), {8, 7}, {8, 1});
  const TensorView<float, 2> columns = b_.view().permuted({1, 0});
  const auto expect = [&](auto member, const char* name, auto call) {
    auto shape = arguments();
    shape.*member = fewer;
    EXPECT_THAT((shape.*call)(), IsError(ErrorCode::shape_mismatch, name));
    auto stride = arguments();
    stride.*member = columns;
    EXPECT_THAT((stride.*call)(), IsError(ErrorCode::invalid_argument, name));
  };
  expect(&GateArguments::up, "up", &GateArguments::forward);
  expect(&GateArguments::d_gate, "y", &GateArguments::forward);
  expect(&GateArguments::up, "up", &GateArguments::backward);
  expect(&GateArguments::d_y, "d_y", &GateArguments::backward);
  expect(&GateArguments::d_gate, "d_gate", &GateArguments::backward);
  expect(&GateArguments::d_up, "d_up", &GateArguments::backward);
  auto stride = arguments();
  stride.gate = columns;
  EXPECT_THAT(stride.forward(), IsError(ErrorCode::invalid_argument, "gate"));
  EXPECT_THAT(stride.backward(), IsError(ErrorCode::invalid_argument, "gate"));
  EXPECT_TRUE(same_bits(a_, filled<float, 2>({8, 8}, -7)));
}

TEST_F(ActivationGateErrorsTest, OutputsOverlapNothingInPart) {
  GateArguments forward{rows(a_, 0), rows(input_, 0), {}, rows(a_, 1), {}};
  EXPECT_THAT(forward.forward(), IsError(ErrorCode::invalid_argument, "y"));
  std::swap(forward.gate, forward.up);
  EXPECT_THAT(forward.forward(), IsError(ErrorCode::invalid_argument, "y"));
  const GateArguments apart{rows(input_, 0), rows(input_, 0), rows(input_, 0),
                            rows(a_, 0), rows(b_, 0)};
  for (const auto member :
       {&GateArguments::gate, &GateArguments::up, &GateArguments::d_y}) {
    auto arguments = apart;
    arguments.*member = rows(a_, 1);
    EXPECT_THAT(arguments.backward(),
                IsError(ErrorCode::invalid_argument, "d_gate"));
    arguments.*member = rows(b_, 1);
    EXPECT_THAT(arguments.backward(),
                IsError(ErrorCode::invalid_argument, "d_up"));
  }
  // The two gradients, even if each is an input.
  for (const std::size_t n : {0u, 1u}) {
    auto arguments = apart;
    arguments.d_up = rows(a_, n);
    EXPECT_THAT(arguments.backward(),
                IsError(ErrorCode::invalid_argument, "d_up"));
  }
  auto same = apart;
  same.gate = same.up = same.d_gate = same.d_up = rows(a_, 0);
  EXPECT_THAT(same.backward(), IsError(ErrorCode::invalid_argument, "d_up"));
  EXPECT_TRUE(same_bits(a_, filled<float, 2>({8, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
