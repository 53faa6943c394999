#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "activation_case.h"
#include "headwise/steps/activation.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

class ActivationGradientTest : public EveryActivation {
 protected:
  static Tensor<float, 2> gradient_of(
      TensorView<const float, 2> x, TensorView<const float, 2> d_y,
      const Executor& executor = Executor::default_executor()) {
    auto d_x = filled<float, 2>(x.extents(), -7);
    EXPECT_TRUE(activate_backward(activation(), x, d_y, d_x, executor));
    return d_x;
  }
  static Tensor<float, 2> derivative_of(const Tensor<float, 2>& x) {
    return gradient_of(x, view_of(filled<float, 2>(x.extents(), 1)));
  }
};

struct DerivativeBounds {
  double error;
  double near;   // relative, from -0.5 on
  float start;   // down from here
  double below;  // the relative error, to -3
  double far;    // and from -3 on, where it is not 0
  float end;     // from here down it is 0
};

// As the header has them, but closer for some.
DerivativeBounds bounds_of_derivative(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return {1.5e-7, 4.5e-7, -1, 1.7e-6, 1.4e-2, -13.22f};
    case Activation::gelu_tanh:
      return {1.3e-7, 4.2e-7, -1, 1e-6, 9e-6, -10.01f};
    case Activation::silu:
      return {1e-7, 2.5e-7, -2, 5e-7, 4e-6, -87.34f};
    case Activation::quick_gelu:
      return {1e-7, 4.2e-7, -1, 6e-7, 4e-6, -51.32f};
    case Activation::relu:
      break;
  }
  return {0, 0, 0, 0, 0, 0};
}

TEST_P(ActivationGradientTest, StaysNearTheFormulaInDouble) {
  const auto x = numbers_of_every_size();
  const auto got = derivative_of(x);
  const auto bounds = bounds_of_derivative(activation());
  double worst = 0;
  double near = 0;
  double below = 0;
  double far = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    const double want = derivative_in_double(activation(), at);
    const double distance = std::abs(got.data()[i] - want);
    const double relative = distance / std::abs(want);
    worst = std::max(worst, distance);
    near = at >= -0.5 && want != 0 ? std::max(near, relative) : near;
    below = at >= -3 && at <= bounds.start && want != 0
                ? std::max(below, relative)
                : below;
    far = at <= -3 && got.data()[i] != 0 ? std::max(far, relative) : far;
    ASSERT_GE(got.data()[i] * want, 0) << "the sign at " << at;
    ASSERT_TRUE(at > bounds.end || got.data()[i] == 0) << at;
  }
  EXPECT_LE(worst, bounds.error);
  EXPECT_LE(near, bounds.near);
  EXPECT_LE(below, bounds.below);
  EXPECT_LE(far, bounds.far);
}

TEST_P(ActivationGradientTest, IsWhatALossChangesWith) {
  const auto x = uniform<2>({7, 61}, 111, -4, 4);
  const auto d_y = uniform<2>({7, 61}, 112);
  auto want = Tensor<double, 2>::create({7, 61}).value();
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    const double rise = activation_in_double(activation(), at + kStep) -
                        activation_in_double(activation(), at - kStep);
    want.data()[i] = d_y.data()[i] * rise / (2 * kStep);
  }
  EXPECT_TRUE(all_near(gradient_of(x, d_y), want, 2e-7));
}

TEST_P(ActivationGradientTest, IsOneFarAboveZeroAndZeroFarBelow) {
  const auto above = tensor_of<float, 2>(
      {1, 5}, {19.6f, 100.0f, 1000.0f, kLargest, kInfinity});
  EXPECT_TRUE(same_bits(derivative_of(above), filled<float, 2>({1, 5}, 1)));
  const auto below = tensor_of<float, 2>(
      {1, 5}, {-87.5f, -100.0f, -1000.0f, -kLargest, -kInfinity});
  EXPECT_TRUE(same_bits(derivative_of(below), filled<float, 2>({1, 5}, 0)));
}

TEST_P(ActivationGradientTest, IsAHalfAtZeroOrZeroForReLU) {
  const float want = activation() == Activation::relu ? 0.0f : 0.5f;
  const auto x = tensor_of<float, 2>({1, 2}, {0.0f, -0.0f});
  EXPECT_TRUE(same_bits(derivative_of(x), filled<float, 2>({1, 2}, want)));
}

TEST_P(ActivationGradientTest, NaNStaysWhereItIs) {
  const auto x = uniform<2>({2, 37}, 113);
  const auto d_y = uniform<2>({2, 37}, 114);
  const auto want = gradient_of(x, d_y);
  for (const std::size_t place : {0u, 17u, 36u}) {
    auto with_nan = clone(x);
    auto d_with_nan = clone(d_y);
    with_nan(1, place) = -kNaN;
    d_with_nan(1, place) = -kNaN;
    auto expected = clone(want);
    expected(1, place) = kNaN;
    EXPECT_TRUE(same_bits(gradient_of(with_nan, d_y), expected));
    EXPECT_TRUE(same_bits(gradient_of(x, d_with_nan), expected));
  }
}

TEST_P(ActivationGradientTest, WithoutGradientIsZeroWhateverXHolds) {
  for (const float nothing : {0.0f, -0.0f, 1e-40f, -1e-40f}) {
    const auto x = tensor_of<float, 2>(
        {1, 7}, {kNaN, -kNaN, kInfinity, -kInfinity, -3, 0, 2});
    const auto d_y = filled<float, 2>({1, 7}, nothing);
    EXPECT_TRUE(same_bits(gradient_of(x, d_y), filled<float, 2>({1, 7}, 0)));
  }
}

TEST_P(ActivationGradientTest, InPlaceAndOnAnyNumberOfThreadsItHasTheSameBits) {
  const auto x = uniform<2>({301, 389}, 115, -5, 5);  // enough to be spread
  const auto d_y = uniform<2>({301, 389}, 116);
  const auto want = gradient_of(x, d_y, Executor::with_threads(1).value());
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    auto in_x = clone(x);
    auto in_d_y = clone(d_y);
    EXPECT_TRUE(activate_backward(activation(), in_x, d_y, in_x, executor));
    EXPECT_TRUE(activate_backward(activation(), x, in_d_y, in_d_y, executor));
    EXPECT_TRUE(same_bits(in_x, want)) << threads << " threads, d_x is x";
    EXPECT_TRUE(same_bits(in_d_y, want)) << threads << " threads, d_x is d_y";
  }
}

TEST_P(ActivationGradientTest, RowsMayLieApart) {
  const auto x = uniform<2>({5, 30}, 117);
  const auto d_y = uniform<2>({5, 40}, 118);
  auto d_x = filled<float, 2>({5, 50}, -7);
  const TensorView<const float, 2> d_part(&d_y(4, 2), {5, 21}, {-40, 1});
  ASSERT_TRUE(activate_backward(activation(), {&x(0, 3), {5, 21}, {30, 1}},
                                d_part, {&d_x(0, 1), {5, 21}, {50, 1}}));
  for (std::size_t n = 0; n < 5; ++n) {
    const auto want =
        gradient_of({&x(n, 3), {1, 21}}, {&d_part(n, 0), {1, 21}});
    EXPECT_TRUE(same_bits({&d_x(n, 1), 21}, want.elements())) << "row " << n;
    EXPECT_EQ(d_x(n, 0), -7) << "before row " << n;
    EXPECT_EQ(d_x(n, 22), -7) << "behind row " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ActivationGradientTest,
                         testing::Combine(testing::ValuesIn(targets()),
                                          testing::ValuesIn(kActivations)),
                         activation_case_name);

TEST(ActivationGradientSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    EXPECT_TRUE(activate_backward(Activation::silu, x, x, x));
  }
}

TEST(ActivationGradientErrorsTest, NameTheArgument) {
  const auto x = uniform<2>({8, 8}, 119);
  auto d_x = filled<float, 2>({8, 8}, -7);
  const TensorView<const float, 2> columns = view_of(x).permuted({1, 0});
  const TensorView<const float, 2> fewer(x.data(), {8, 7}, {8, 1});
  const auto status = [](TensorView<const float, 2> in,
                         TensorView<const float, 2> d_out,
                         TensorView<float, 2> out) {
    return activate_backward(Activation::silu, in, d_out, out);
  };
  EXPECT_EQ(status(x, fewer, d_x).error().message(),
            "activate_backward: d_y has shape (8, 7), expected (N, E) = (8, "
            "8)");
  EXPECT_THAT(status(fewer, fewer, d_x), IsAbout("d_x", "(8, 8)", "(8, 7)"));
  constexpr const char* kStride = "stride 8 on its axis E";
  EXPECT_THAT(status(columns, x, d_x), IsAbout("x", kStride, "1"));
  EXPECT_THAT(status(x, columns, d_x), IsAbout("d_y", kStride, "1"));
  EXPECT_THAT(status(x, x, d_x.view().permuted({1, 0})),
              IsAbout("d_x", kStride, "1"));
  const TensorView<float, 2> first(d_x.data(), {7, 8});
  const TensorView<float, 2> second(d_x.data() + 8, {7, 8});
  const TensorView<const float, 2> other(x.data(), {7, 8});
  EXPECT_THAT(status(first, other, second),
              IsError(ErrorCode::invalid_argument, "d_x"));
  EXPECT_THAT(status(other, first, second),
              IsError(ErrorCode::invalid_argument, "d_x"));
  EXPECT_TRUE(same_bits(d_x, filled<float, 2>({8, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
