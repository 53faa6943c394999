#include "headwise/steps/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "activation_case.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

Tensor<float, 2> activated(
    Activation activation, TensorView<const float, 2> x,
    const Executor& executor = Executor::default_executor()) {
  auto y = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(activate(activation, x, y, executor));
  return y;
}

class ActivationTest : public EveryActivation {
 protected:
  static Tensor<float, 2> of(TensorView<const float, 2> x) {
    return activated(activation(), x);
  }
};

struct ActivationBounds {
  double error;  // over max(1, |x|)
  double near;   // relative, from -1 on
  double far;    // relative, below -1, of results that are not 0
  float end;     // from here down it is 0
};

// As the header has them, but closer for some.
ActivationBounds bounds_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return {8.6e-8, 3.3e-7, kInfinity, -10.65f};
    case Activation::gelu_tanh:
      return {8e-8, 3e-7, 9e-6, -10.01f};
    case Activation::silu:
      return {9e-8, 2.3e-7, 4e-6, -87.34f};
    case Activation::quick_gelu:
      return {8e-8, 2.4e-7, 4e-6, -51.32f};
    case Activation::relu:
      break;
  }
  return {0, 0, 0, 0};
}

TEST_P(ActivationTest, StaysNearTheFormulaInDouble) {
  const auto x = numbers_of_every_size();
  const auto y = of(x);
  const auto bounds = bounds_of(activation());
  double worst = 0;
  double near = 0;
  double far = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x.data()[i];
    const double want = activation_in_double(activation(), at);
    const double distance = std::abs(y.data()[i] - want);
    worst = std::max(worst, distance / std::max(1.0, std::abs(at)));
    // Smaller results may have been flushed to 0.
    if (at >= -1 && std::abs(want) >= 0x1p-126) {
      near = std::max(near, distance / std::abs(want));
    }
    if (at < -1 && y.data()[i] != 0) {
      far = std::max(far, distance / std::abs(want));
    }
    ASSERT_TRUE(at > bounds.end || y.data()[i] == 0) << at;
    ASSERT_TRUE(at > 0 || y.data()[i] <= 0) << "the sign at " << at;
  }
  EXPECT_LE(worst, bounds.error);
  EXPECT_LE(near, bounds.near);
  EXPECT_LE(far, bounds.far);
}

TEST_P(ActivationTest, IsXFarAboveZeroAndZeroFarBelow) {
  const auto above =
      tensor_of<float, 2>({1, 4}, {17.0f, 100.0f, kLargest, kInfinity});
  EXPECT_TRUE(same_bits(of(above), above));
  const auto below = tensor_of<float, 2>(
      {1, 5}, {-87.5f, -100.0f, -1000.0f, -kLargest, -kInfinity});
  EXPECT_TRUE(same_bits(of(below), filled<float, 2>({1, 5}, 0.0f)));
}

TEST_P(ActivationTest, OfZeroIsZero) {
  const auto x = tensor_of<float, 2>({1, 2}, {0.0f, -0.0f});
  EXPECT_TRUE(same_bits(of(x), filled<float, 2>({1, 2}, 0.0f)));
}

TEST_P(ActivationTest, NaNStaysWhereItIs) {
  const auto x = uniform<2>({2, 37}, 71);
  const auto want = of(x);
  for (const std::size_t place : {0u, 20u, 36u}) {
    auto with_nan = clone(x);
    with_nan(1, place) = -kNaN;
    auto expected = clone(want);
    expected(1, place) = kNaN;
    EXPECT_TRUE(same_bits(of(with_nan), expected)) << place;
  }
}

TEST_P(ActivationTest, InPlaceAndOnAnyNumberOfThreadsItHasTheSameBits) {
  const auto x = uniform<2>({301, 389}, 72, -5, 5);  // enough to be spread
  const auto want =
      activated(activation(), x, Executor::with_threads(1).value());
  for (const std::size_t threads : {2u, 3u, 7u}) {
    auto y = clone(x);
    EXPECT_TRUE(
        activate(activation(), y, y, Executor::with_threads(threads).value()));
    EXPECT_TRUE(same_bits(y, want)) << threads << " threads";
  }
}

TEST_P(ActivationTest, RowsMayLieApart) {
  const auto x = uniform<2>({5, 30}, 73);
  const auto want = of(x);
  auto y = clone(x);
  const TensorView<float, 2> part(&y(0, 3), {5, 21}, {30, 1});
  ASSERT_TRUE(activate(activation(), part, part));
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_TRUE(same_bits({&y(n, 0), 3}, {&x(n, 0), 3}));
    EXPECT_TRUE(same_bits({&y(n, 3), 21}, {&want(n, 3), 21}));
    EXPECT_TRUE(same_bits({&y(n, 24), 6}, {&x(n, 24), 6}));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ActivationTest,
                         testing::Combine(testing::ValuesIn(targets()),
                                          testing::ValuesIn(kActivations)),
                         activation_case_name);

// Computed from the header's formulas by another program.
TEST(ActivationValuesTest, AreThoseOfTheHeader) {
  const auto x = tensor_of<float, 2>({1, 3}, {-2, -0.5f, 1});
  const auto expect = [&](Activation activation,
                          const std::vector<double>& want) {
    EXPECT_TRUE(all_near(activated(activation, x),
                         tensor_of<double, 2>({1, 3}, want), 1e-7));
  };
  expect(Activation::gelu, {-0.045500263896, -0.154268769363, 0.841344746069});
  expect(Activation::gelu_tanh,
         {-0.045402305912, -0.154285990175, 0.841191990608});
  expect(Activation::silu, {-0.238405844044, -0.188770334399, 0.731058578630});
  expect(Activation::quick_gelu,
         {-0.064341376856, -0.149611563394, 0.845795765933});
  expect(Activation::relu, {0, 0, 1});
}

TEST(ActivationSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    EXPECT_TRUE(activate(Activation::silu, x, x));
  }
}

TEST(ActivationErrorsTest, NameTheArgument) {
  const auto x = uniform<2>({8, 8}, 74);
  auto y = filled<float, 2>({8, 8}, -7);
  const auto status = [](TensorView<const float, 2> in,
                         TensorView<float, 2> out) {
    return activate(Activation::silu, in, out);
  };
  const TensorView<const float, 2> columns = view_of(x).permuted({1, 0});
  const Status shape = status(x, {y.data(), {8, 7}, {8, 1}});
  EXPECT_THAT(shape, IsError(ErrorCode::shape_mismatch, "y"));
  EXPECT_THAT(shape, IsAbout("y", "(8, 7)", "(8, 8)"));
  const Status stride = status(x, y.view().permuted({1, 0}));
  EXPECT_THAT(stride, IsError(ErrorCode::invalid_argument, "y"));
  EXPECT_THAT(stride, IsAbout("y", "stride 8 on its axis E", "1"));
  EXPECT_THAT(status(columns, y), IsAbout("x", "stride 8 on its axis E", "1"));
  // A row further down, and rows that are one row.
  const TensorView<const float, 2> first(y.data(), {7, 8});
  EXPECT_THAT(status(first, {y.data() + 8, {7, 8}}),
              IsError(ErrorCode::invalid_argument, "y"));
  const TensorView<float, 2> one_row(y.data(), {7, 8}, {0, 1});
  EXPECT_THAT(status(one_row, one_row),
              IsError(ErrorCode::invalid_argument, "y"));
  EXPECT_TRUE(same_bits(y, filled<float, 2>({8, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
