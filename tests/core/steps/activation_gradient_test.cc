#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "headwise/steps/gelu.h"
#include "headwise/steps/softmax.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor<float, 2> gradient_of(
    TensorView<const float, 2> x, TensorView<const float, 2> d_y,
    const Executor& executor = Executor::default_executor()) {
  auto d_x = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(gelu_backward(x, d_y, d_x, executor));
  return d_x;
}

Tensor<float, 2> derivative_of(const Tensor<float, 2>& x) {
  return gradient_of(x, view_of(filled<float, 2>(x.extents(), 1)));
}

// The header's formula in double.
double reference(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2 +
         x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

// Every 61st number from 2^-100 to 13, and their negatives.
Tensor<float, 2> many_numbers() {
  constexpr std::uint32_t kStep = 61;
  const std::uint32_t first = bits(0x1p-100f);
  const std::size_t count = (bits(13.0f) - first) / kStep;
  auto x = Tensor<float, 2>::create({2, count}).value();
  for (std::size_t i = 0; i < count; ++i) {
    x(0, i) =
        std::bit_cast<float>(first + static_cast<std::uint32_t>(i) * kStep);
    x(1, i) = -x(0, i);
  }
  return x;
}

class GeluGradientTest : public TargetTest {};

TEST_P(GeluGradientTest, StaysNearTheFormulaInDouble) {
  const auto x = many_numbers();
  const auto got = derivative_of(x);
  double worst = 0;
  double above = 0;  // relative, from -0.5 on
  double below = 0;  // relative, from -3 to -1
  double far = 0;    // relative, up to -3
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    const double want = reference(at);
    const double distance = std::abs(got.data()[i] - want);
    const double relative = distance / std::abs(want);
    worst = std::max(worst, distance);
    above = at >= -0.5 ? std::max(above, relative) : above;
    below = at >= -3 && at <= -1 ? std::max(below, relative) : below;
    far = at <= -3 ? std::max(far, relative) : far;
    ASSERT_GE(got.data()[i] * want, 0) << "the sign at " << at;
  }
  EXPECT_LT(worst, 1.5e-7);
  EXPECT_LT(above, 4.5e-7);
  EXPECT_LT(below, 1.7e-6);
  EXPECT_LT(far, 1.4e-2);
}

TEST_P(GeluGradientTest, IsWhatALossChangesWith) {
  const auto x = uniform<2>({7, 61}, 111, -4, 4);
  const auto d_y = uniform<2>({7, 61}, 112);
  auto want = Tensor<double, 2>::create({7, 61}).value();
  const auto gelu_at = [](double at) {
    return at / 2 * std::erfc(-at / std::numbers::sqrt2);
  };
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    want.data()[i] = d_y.data()[i] *
                     (gelu_at(at + kStep) - gelu_at(at - kStep)) / (2 * kStep);
  }
  EXPECT_TRUE(all_near(gradient_of(x, d_y), want, 2e-7));
}

TEST_P(GeluGradientTest, IsOneFarAboveZeroAndZeroFarBelow) {
  const float largest = std::numeric_limits<float>::max();
  const auto above = tensor_of<float, 2>(
      {1, 6}, {8.5f, 10.65f, 16.0f, 100.0f, largest, kInfinity});
  EXPECT_TRUE(same_bits(derivative_of(above), filled<float, 2>({1, 6}, 1)));
  const auto below = tensor_of<float, 2>(
      {1, 5}, {-13.22f, -16.0f, -100.0f, -largest, -kInfinity});
  EXPECT_TRUE(same_bits(derivative_of(below), filled<float, 2>({1, 5}, 0)));
}

TEST_P(GeluGradientTest, IsAHalfAtZero) {
  const auto x = tensor_of<float, 2>({1, 2}, {0.0f, -0.0f});
  EXPECT_TRUE(same_bits(derivative_of(x), filled<float, 2>({1, 2}, 0.5)));
}

TEST_P(GeluGradientTest, NaNStaysWhereItIs) {
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

TEST_P(GeluGradientTest, WithoutGradientIsZeroWhateverXHolds) {
  for (const float nothing : {0.0f, -0.0f, 1e-40f, -1e-40f}) {
    const auto x = tensor_of<float, 2>(
        {1, 7}, {kNaN, -kNaN, kInfinity, -kInfinity, -3, 0, 2});
    const auto d_y = filled<float, 2>({1, 7}, nothing);
    EXPECT_TRUE(same_bits(gradient_of(x, d_y), filled<float, 2>({1, 7}, 0)));
  }
}

TEST_P(GeluGradientTest, InPlaceAndOnAnyNumberOfThreadsItHasTheSameBits) {
  const auto x = uniform<2>({301, 389}, 115, -5, 5);  // enough to be spread
  const auto d_y = uniform<2>({301, 389}, 116);
  const auto want = gradient_of(x, d_y, Executor::with_threads(1).value());
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    auto in_x = clone(x);
    auto in_d_y = clone(d_y);
    EXPECT_TRUE(gelu_backward(in_x, d_y, in_x, executor));
    EXPECT_TRUE(gelu_backward(x, in_d_y, in_d_y, executor));
    EXPECT_TRUE(same_bits(in_x, want)) << threads << " threads, d_x is x";
    EXPECT_TRUE(same_bits(in_d_y, want)) << threads << " threads, d_x is d_y";
  }
}

TEST_P(GeluGradientTest, RowsMayLieApart) {
  const auto x = uniform<2>({5, 30}, 117);
  const auto d_y = uniform<2>({5, 40}, 118);
  auto d_x = filled<float, 2>({5, 50}, -7);
  const TensorView<const float, 2> d_part(&d_y(4, 2), {5, 21}, {-40, 1});
  ASSERT_TRUE(gelu_backward({&x(0, 3), {5, 21}, {30, 1}}, d_part,
                            {&d_x(0, 1), {5, 21}, {50, 1}}));
  for (std::size_t n = 0; n < 5; ++n) {
    const auto want =
        gradient_of({&x(n, 3), {1, 21}}, {&d_part(n, 0), {1, 21}});
    EXPECT_TRUE(same_bits({&d_x(n, 1), 21}, want.elements())) << "row " << n;
    EXPECT_EQ(d_x(n, 0), -7) << "before row " << n;
    EXPECT_EQ(d_x(n, 22), -7) << "behind row " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GeluGradientTest,
                         testing::ValuesIn(targets()), target_name);

TEST(GeluGradientSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    EXPECT_TRUE(gelu_backward(x, x, x));
  }
}

TEST(GeluGradientErrorsTest, NameTheArgument) {
  const auto x = uniform<2>({8, 8}, 119);
  auto d_x = filled<float, 2>({8, 8}, -7);
  const TensorView<const float, 2> columns = view_of(x).permuted({1, 0});
  const TensorView<const float, 2> fewer(x.data(), {8, 7}, {8, 1});
  const auto message = [](const Status& s, ErrorCode code) {
    EXPECT_FALSE(s);
    EXPECT_EQ(s.error().code(), code);
    return s.error().message();
  };
  EXPECT_EQ(message(gelu_backward(x, fewer, d_x), ErrorCode::shape_mismatch),
            "gelu_backward: d_y has shape (8, 7), expected (N, E) = (8, 8)");
  EXPECT_EQ(
      message(gelu_backward(fewer, fewer, d_x), ErrorCode::shape_mismatch),
      "gelu_backward: d_x has shape (8, 8), expected (N, E) = (8, 7)");
  EXPECT_EQ(
      message(gelu_backward(columns, x, d_x), ErrorCode::invalid_argument),
      "gelu_backward: x has stride 8 on its axis E, expected 1");
  EXPECT_EQ(
      message(gelu_backward(x, columns, d_x), ErrorCode::invalid_argument),
      "gelu_backward: d_y has stride 8 on its axis E, expected 1");
  EXPECT_EQ(message(gelu_backward(x, x, d_x.view().permuted({1, 0})),
                    ErrorCode::invalid_argument),
            "gelu_backward: d_x has stride 8 on its axis E, expected 1");
  EXPECT_TRUE(same_bits(d_x, filled<float, 2>({8, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
