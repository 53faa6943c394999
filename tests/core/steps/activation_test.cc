#include "headwise/steps/gelu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "headwise/steps/softmax.h"
#include "support/errors.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Tensor<float, 2> gelu_of(
    TensorView<const float, 2> x,
    const Executor& executor = Executor::default_executor()) {
  auto y = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(gelu(x, y, executor));
  return y;
}

// The header's formula in double, without its cancellation.
double reference(double x) {
  return x / 2 * std::erfc(-x / std::numbers::sqrt2);
}

// Every 61st number from 2^-100 to 12, and their negatives.
Tensor<float, 2> many_numbers() {
  constexpr std::uint32_t kStep = 61;
  const std::uint32_t first = bits(0x1p-100f);
  const std::size_t count = (bits(12.0f) - first) / kStep;
  auto x = Tensor<float, 2>::create({2, count}).value();
  for (std::size_t i = 0; i < count; ++i) {
    x(0, i) =
        std::bit_cast<float>(first + static_cast<std::uint32_t>(i) * kStep);
    x(1, i) = -x(0, i);
  }
  return x;
}

class GeluTest : public TargetTest {};

TEST_P(GeluTest, StaysNearTheFormulaInDouble) {
  const auto x = many_numbers();
  const auto y = gelu_of(x);
  double worst = 0;
  double worst_relative = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    const double want = reference(at);
    const double distance = std::abs(y.data()[i] - want);
    worst = std::max(worst, distance / std::max(1.0, std::abs(at)));
    if (at >= -1) {
      worst_relative = std::max(worst_relative, distance / std::abs(want));
    }
  }
  EXPECT_LT(worst, 8.6e-8);
  EXPECT_LT(worst_relative, 3.3e-7);
}

TEST_P(GeluTest, IsXFarAboveZeroAndZeroFarBelow) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float largest = std::numeric_limits<float>::max();
  const auto above = tensor_of<float, 2>(
      {1, 6}, {5.5f, 7.0f, 10.65f, 100.0f, largest, infinity});
  EXPECT_TRUE(same_bits(gelu_of(above), above));
  const auto below = tensor_of<float, 2>(
      {1, 5}, {-10.7f, -13.0f, -100.0f, -largest, -infinity});
  EXPECT_TRUE(same_bits(gelu_of(below), filled<float, 2>({1, 5}, 0.0f)));
}

TEST_P(GeluTest, IsNowherePositiveBelowZero) {
  const auto x = many_numbers();
  const auto y = gelu_of(x);
  EXPECT_TRUE(std::all_of(&y(1, 0), &y(1, 0) + y.extent(1),
                          [](float below) { return below <= 0; }));
}

TEST_P(GeluTest, OfZeroIsZero) {
  const auto x = tensor_of<float, 2>({1, 2}, {0.0f, -0.0f});
  const auto y = gelu_of(x);
  EXPECT_EQ(y(0, 0), 0.0f);
  EXPECT_EQ(y(0, 1), 0.0f);
}

TEST_P(GeluTest, NaNStaysWhereItIs) {
  const auto x = uniform<2>({2, 37}, 71);
  const auto want = gelu_of(x);
  for (const std::size_t place : {0u, 20u, 36u}) {
    auto with_nan = clone(x);
    with_nan(1, place) = -kNaN;
    auto expected = clone(want);
    expected(1, place) = kNaN;
    EXPECT_TRUE(same_bits(gelu_of(with_nan), expected)) << place;
  }
}

TEST_P(GeluTest, InPlaceAndOnAnyNumberOfThreadsItHasTheSameBits) {
  const auto x = uniform<2>({301, 389}, 72, -5, 5);  // enough to be spread
  const auto want = gelu_of(x, Executor::with_threads(1).value());
  for (const std::size_t threads : {2u, 3u, 7u}) {
    auto y = clone(x);
    EXPECT_TRUE(gelu(y, y, Executor::with_threads(threads).value()));
    EXPECT_TRUE(same_bits(y, want)) << threads << " threads";
  }
}

TEST_P(GeluTest, RowsMayLieApart) {
  const auto x = uniform<2>({5, 30}, 73);
  const auto want = gelu_of(x);
  auto y = clone(x);
  const TensorView<float, 2> part(&y(0, 3), {5, 21}, {30, 1});
  ASSERT_TRUE(gelu(part, part));
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_TRUE(same_bits({&y(n, 0), 3}, {&x(n, 0), 3}));
    EXPECT_TRUE(same_bits({&y(n, 3), 21}, {&want(n, 3), 21}));
    EXPECT_TRUE(same_bits({&y(n, 24), 6}, {&x(n, 24), 6}));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GeluTest, testing::ValuesIn(targets()),
                         target_name);

TEST(GeluSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    EXPECT_TRUE(gelu(x, x));
  }
}

TEST(GeluErrorsTest, NameTheArgument) {
  const auto x = uniform<2>({8, 8}, 74);
  auto y = filled<float, 2>({8, 8}, -7);
  const Status shape = gelu(x, {y.data(), {8, 7}, {8, 1}});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(shape, IsAbout("y", "(8, 7)", "(8, 8)"));
  const Status stride = gelu(x, y.view().permuted({1, 0}));
  ASSERT_FALSE(stride);
  EXPECT_EQ(stride.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(stride, IsAbout("y", "stride 8 on its axis E", "1"));
  const Status of_x = gelu(view_of(x).permuted({1, 0}), y);
  ASSERT_FALSE(of_x);
  EXPECT_THAT(of_x, IsAbout("x", "stride 8 on its axis E", "1"));
  EXPECT_TRUE(same_bits(y, filled<float, 2>({8, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
