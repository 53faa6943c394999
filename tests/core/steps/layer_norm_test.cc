#include "headwise/steps/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headwise/steps/softmax.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

LayerNormParams params_of(std::size_t weight_size, std::size_t bias_size) {
  return {uniform<1>({weight_size}, 51, 0.5, 1.5), uniform<1>({bias_size}, 52)};
}
LayerNormParams params_of(std::size_t E) { return params_of(E, E); }

Tensor<float, 2> layer_norm_of(
    TensorView<const float, 2> x, const LayerNormParams& params,
    const Executor& executor = Executor::default_executor()) {
  auto y = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(layer_norm(x, params, y, executor));
  return y;
}

// Each row is the header's formula in double, but for what rounding the mean
// to binary32 changes: half a unit in the last place of it, in deviations.
void expect_formula(const Tensor<float, 2>& x, const LayerNormParams& params,
                    const std::string& what) {
  const auto got = layer_norm_of(x, params);
  const auto [N, E] = x.extents();
  std::vector<double> want(E);
  for (std::size_t n = 0; n < N; ++n) {
    double mean = 0;
    for (std::size_t e = 0; e < E; ++e) {
      mean += x(n, e) / static_cast<double>(E);
    }
    double var = 0;
    for (std::size_t e = 0; e < E; ++e) {
      var += (x(n, e) - mean) * (x(n, e) - mean) / static_cast<double>(E);
    }
    const double deviation = std::sqrt(var + params.eps);
    for (std::size_t e = 0; e < E; ++e) {
      want[e] =
          (x(n, e) - mean) / deviation * params.weight(e) + params.bias(e);
    }
    const std::span<const float> row(&got(n, 0), E);
    const double room = 5e-7 + 1e-7 * std::abs(mean) / deviation;
    EXPECT_TRUE((all_near<float, double>(row, want, room, 5e-7)))
        << E << " elements, row " << n << ", " << what;
  }
}

class LayerNormTest : public TargetTest {};

TEST_P(LayerNormTest, StaysNearTheFormulaInDouble) {
  for (const std::size_t E : {1u, 2u, 3u, 15u, 33u, 384u, 768u, 4099u}) {
    for (const double range : {1e-7, 1e-3, 1.0, 1e4, 1e15}) {
      expect_formula(uniform<2>({8, E}, 53, -range, range), params_of(E),
                     "range " + std::to_string(range));
    }
  }
}

TEST_P(LayerNormTest, KeepsDeviationsThatAreSmallBesideTheMean) {
  for (const double mean : {100.0, -100.0}) {
    expect_formula(uniform<2>({8, 384}, 54, mean - 0.01, mean + 0.01),
                   params_of(384), "mean " + std::to_string(mean));
  }
}

TEST_P(LayerNormTest, AnElementFarFromTheOthersComesFirstOrLast) {
  for (const std::size_t place : {0u, 383u}) {
    auto x = uniform<2>({8, 384}, 55);
    for (std::size_t n = 0; n < 8; ++n) {
      x(n, place) = 1000;
    }
    expect_formula(x, params_of(384), "element " + std::to_string(place));
  }
}

TEST_P(LayerNormTest, ARowOfEqualElementsGivesTheBias) {
  for (const std::size_t E : {1u, 7u, 16u, 389u}) {
    const LayerNormParams params = params_of(E);
    for (const float element : {0.0f, 0.1f, -1234.567f, 1e30f}) {
      EXPECT_TRUE(same_bits(
          layer_norm_of(view_of(filled<float, 2>({1, E}, element)), params)
              .elements(),
          params.bias.elements()))
          << E << " times " << element;
    }
  }
}

TEST_P(LayerNormTest, NaNAndInfinityStayInTheirRow) {
  const LayerNormParams params = params_of(37);
  const auto x = uniform<2>({6, 37}, 56);
  const auto want = layer_norm_of(x, params);
  for (const float bad : {kNaN, kMinusInf, -kMinusInf}) {
    for (const std::size_t place : {0u, 20u, 36u}) {
      auto with_bad = clone(x);
      with_bad(2, place) = bad;
      const auto got = layer_norm_of(with_bad, params);
      for (std::size_t n = 0; n < 6; ++n) {
        const auto expected =
            n == 2 ? filled<float, 2>({1, 37}, kNaN) : clone(want);
        EXPECT_TRUE(
            same_bits({&got(n, 0), 37}, {&expected(n == 2 ? 0 : n, 0), 37}))
            << bad << " at " << place << ", row " << n;
      }
    }
  }
}

TEST_P(LayerNormTest, ARowHasItsBitsAloneAndOnAnyNumberOfThreads) {
  const LayerNormParams params = params_of(389);  // large enough to be spread
  const auto x = uniform<2>({301, 389}, 57);
  const auto want = layer_norm_of(x, params, Executor::with_threads(1).value());
  for (const std::size_t threads : {2u, 3u, 7u}) {
    EXPECT_TRUE(same_bits(
        layer_norm_of(x, params, Executor::with_threads(threads).value()),
        want))
        << threads << " threads";
  }
  for (const std::size_t row : {0u, 1u, 42u, 300u}) {
    const TensorView<const float, 2> alone(&x(row, 0), {1, 389});
    EXPECT_TRUE(same_bits(layer_norm_of(alone, params).elements(),
                          {&want(row, 0), 389}))
        << "row " << row;
  }
}

TEST_P(LayerNormTest, RowsMayLieApartAndBackwards) {
  const LayerNormParams params = params_of(21);
  const auto x = uniform<2>({5, 21}, 58);
  const auto residual = uniform<2>({5, 21}, 59);
  auto want = clone(x);
  ASSERT_TRUE(add_layer_norm(x, residual, params, want));
  auto wide = filled<float, 2>({5, 30}, kNaN);  // backwards, with gaps
  auto wide_y = filled<float, 2>({5, 40}, -7);
  for (std::size_t n = 0; n < 5; ++n) {
    std::copy_n(&x(n, 0), 21, &wide(4 - n, 0));
  }
  const TensorView<float, 2> y(wide_y.data(), {5, 21}, {40, 1});
  ASSERT_TRUE(
      add_layer_norm({&wide(4, 0), {5, 21}, {-30, 1}}, residual, params, y));
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_TRUE(same_bits({&y(n, 0), 21}, {&want(n, 0), 21})) << "row " << n;
    EXPECT_EQ(wide_y(n, 21), -7) << "behind row " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerNormTest, testing::ValuesIn(targets()),
                         target_name);

TEST(LayerNormSizesTest, WithoutRowsOrElementsNothingHappens) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}, {0, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    const LayerNormParams params = params_of(extents[1]);
    EXPECT_TRUE(layer_norm(x, params, x));
    EXPECT_TRUE(add_layer_norm(x, x, params, x));
  }
}

TEST(LayerNormErrorsTest, NameTheArgumentOfAnotherShape) {
  const auto x = uniform<2>({3, 8}, 60);
  auto y = filled<float, 2>({3, 8}, -7);
  const auto message = [](const Status& s) {
    EXPECT_FALSE(s);
    EXPECT_EQ(s.error().code(), ErrorCode::shape_mismatch);
    return s.error().message();
  };
  EXPECT_EQ(message(layer_norm(x, params_of(7, 8), y)),
            "layer_norm: weight has shape (7), expected (E) = (8)");
  EXPECT_EQ(message(layer_norm(x, params_of(8, 9), y)),
            "layer_norm: bias has shape (9), expected (E) = (8)");
  EXPECT_EQ(message(layer_norm(x, params_of(8), {y.data(), {2, 8}, {8, 1}})),
            "layer_norm: y has shape (2, 8), expected (N, E) = (3, 8)");
  EXPECT_EQ(
      message(add_layer_norm(x, {x.data(), {3, 7}, {8, 1}}, params_of(8), y)),
      "add_layer_norm: residual has shape (3, 7), expected (N, E) = "
      "(3, 8)");
  EXPECT_TRUE(same_bits(y, filled<float, 2>({3, 8}, -7)));
}

TEST(LayerNormErrorsTest, NameAStrideOfOtherThanOne) {
  const auto x = uniform<2>({8, 8}, 61);
  auto y = filled<float, 2>({8, 8}, -7);
  const auto message = [](const Status& s) {
    EXPECT_FALSE(s);
    EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument);
    return s.error().message();
  };
  const TensorView<const float, 2> columns = view_of(x).permuted({1, 0});
  EXPECT_EQ(message(layer_norm(columns, params_of(8), y)),
            "layer_norm: x has stride 8 on its axis E, expected 1");
  EXPECT_EQ(message(layer_norm(x, params_of(8), y.view().permuted({1, 0}))),
            "layer_norm: y has stride 8 on its axis E, expected 1");
  EXPECT_EQ(message(add_layer_norm(x, columns, params_of(8), y)),
            "add_layer_norm: residual has stride 8 on its axis E, expected 1");
  // Of one column a stride is as good as another.
  EXPECT_TRUE(layer_norm({x.data(), {8, 1}, {1, 8}}, params_of(1),
                         {y.data(), {8, 1}, {1, 8}}));
}

TEST(LayerNormErrorsTest, NameAnEpsThatIsNotPositive) {
  const auto x = uniform<2>({3, 8}, 62);
  auto y = filled<float, 2>({3, 8}, -7);
  for (const double eps :
       {0.0, -1e-5, 1e-40, 1e39, std::numeric_limits<double>::quiet_NaN()}) {
    LayerNormParams params = params_of(8);
    params.eps = eps;
    const Status s = layer_norm(x, params, y);
    ASSERT_FALSE(s) << eps;
    EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(s.error().message(),
                HasSubstr("expected a positive binary32 number"));
  }
  EXPECT_TRUE(same_bits(y, filled<float, 2>({3, 8}, -7)));
}

}  // namespace
}  // namespace headwise::testing_support
