
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/layer_norm.h"
#include "headwise/steps/softmax.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
using OffsetsView = TensorView<const std::int64_t, 1>;

LayerNormParams params_of(std::size_t weight_size, std::size_t bias_size) {
  return {uniform<1>({weight_size}, 121, 0.5, 1.5),
          uniform<1>({bias_size}, 122)};
}
LayerNormParams params_of(std::size_t E) { return params_of(E, E); }

struct Gradients {
  Tensor<float, 2> x;
  LayerNormGradients params;
};

Gradients gradients_of(
    TensorView<const float, 2> x, const LayerNormParams& params,
    TensorView<const float, 2> d_y, OffsetsView offsets = {},
    const Executor& executor = Executor::default_executor()) {
  auto d_x = filled<float, 2>(x.extents(), -7);
  auto of_params =
      layer_norm_backward(x, params, d_y, d_x, offsets, executor).value();
  return {std::move(d_x), std::move(of_params)};
}

testing::AssertionResult same_gradients(const Gradients& got,
                                        const Gradients& want) {
  for (const auto& same : {same_bits(got.x, want.x),
                           same_bits(got.params.weight, want.params.weight),
                           same_bits(got.params.bias, want.params.bias)}) {
    if (!same) {
      return same;
    }
  }
  return testing::AssertionSuccess();
}

// The header's formula in double.
double loss_of(const Tensor<double, 2>& x, const Tensor<double, 1>& weight,
               const Tensor<double, 1>& bias, double eps,
               const Tensor<float, 2>& d_y) {
  const auto [N, E] = x.extents();
  const auto count = static_cast<double>(E);
  double loss = 0;
  for (std::size_t n = 0; n < N; ++n) {
    double mean = 0;
    double var = 0;
    for (std::size_t e = 0; e < E; ++e) {
      mean += x(n, e) / count;
    }
    for (std::size_t e = 0; e < E; ++e) {
      var += (x(n, e) - mean) * (x(n, e) - mean) / count;
    }
    for (std::size_t e = 0; e < E; ++e) {
      const double z = (x(n, e) - mean) / std::sqrt(var + eps);
      loss += d_y(n, e) * (z * weight(e) + bias(e));
    }
  }
  return loss;
}

// How the loss changes with each of `at`, by central differences.
template <std::size_t Rank, class Loss>
Tensor<double, Rank> differences(Tensor<double, Rank>& at, const Loss& loss) {
  constexpr double kStep = 1e-5;
  auto slopes = Tensor<double, Rank>::create(at.extents()).value();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double here = at.data()[i];
    at.data()[i] = here + kStep;
    const double above = loss();
    at.data()[i] = here - kStep;
    slopes.data()[i] = (above - loss()) / (2 * kStep);
    at.data()[i] = here;
  }
  return slopes;
}

class LayerNormGradientTest : public TargetTest {};

TEST_P(LayerNormGradientTest, IsWhatALossChangesWith) {
  for (const double eps : {1e-12, 1e-5, 0.3}) {
    for (const std::size_t E : {1u, 2u, 5u, 16u, 37u}) {
      LayerNormParams params = params_of(E);
      params.eps = eps;
      const auto x = uniform<2>({4, E}, 123, -2, 3);
      const auto d_y = uniform<2>({4, E}, 124);
      auto wide_x = widened(x);
      auto weight = widened(params.weight);
      auto bias = widened(params.bias);
      const auto loss = [&] { return loss_of(wide_x, weight, bias, eps, d_y); };
      const auto got = gradients_of(x, params, d_y);
      const std::string what =
          std::to_string(E) + " elements, eps " + std::to_string(eps);
      if (E > 1) {  // of one element the variance is 0, the loss no slope
        EXPECT_TRUE(all_near(got.x, differences(wide_x, loss), 2e-6, 2e-6))
            << what;
      }
      EXPECT_TRUE(
          all_near(got.params.weight, differences(weight, loss), 1e-6, 1e-6))
          << what;
      EXPECT_TRUE(
          all_near(got.params.bias, differences(bias, loss), 1e-6, 1e-6))
          << what;
    }
  }
}

TEST_P(LayerNormGradientTest, ARowOfEqualElementsHasAGradientWithoutNaN) {
  const auto got =
      gradients_of(view_of(filled<float, 2>({1, 37}, 0.1f)), params_of(37),
                   view_of(uniform<2>({1, 37}, 125)));
  EXPECT_TRUE(std::ranges::all_of(got.x.elements(),
                                  [](float d) { return std::isfinite(d); }));
  EXPECT_TRUE(same_bits(got.params.weight, filled<float, 1>({37}, 0)));
}

TEST_P(LayerNormGradientTest, NaNAndInfinityStayInTheirRow) {
  const LayerNormParams params = params_of(37);
  const auto x = uniform<2>({6, 37}, 126);
  const auto d_y = uniform<2>({6, 37}, 127);
  const auto want = gradients_of(x, params, d_y);
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    for (const std::size_t place : {0u, 20u, 36u}) {
      auto expected = clone(want.x);
      std::fill_n(&expected(2, 0), 37, kNaN);
      auto with_bad = clone(x);
      with_bad(2, place) = bad;
      auto d_with_bad = clone(d_y);
      d_with_bad(2, place) = bad;
      const auto of_x = gradients_of(with_bad, params, d_y);
      EXPECT_TRUE(same_bits(of_x.x, expected)) << bad << " at " << place;
      EXPECT_TRUE(same_bits(of_x.params.weight, filled<float, 1>({37}, kNaN)));
      EXPECT_TRUE(same_bits(of_x.params.bias, want.params.bias));
      auto of_d_y = gradients_of(x, params, d_with_bad).x;
      EXPECT_TRUE(std::none_of(&of_d_y(2, 0), &of_d_y(3, 0),
                               [](float d) { return std::isfinite(d); }))
          << bad << " at " << place;
      std::fill_n(&of_d_y(2, 0), 37, kNaN);
      EXPECT_TRUE(same_bits(of_d_y, expected)) << bad << " at " << place;
    }
  }
}

TEST_P(LayerNormGradientTest, APaddedBatchHasTheBitsOfTheRaggedOne) {
  constexpr std::size_t kLength = 150;
  constexpr std::size_t E = 29;
  const LayerNormParams params = params_of(E);
  const auto ragged_offsets =
      tensor_of<std::int64_t, 1>({5}, {0, 140, 141, 141, 291});
  const auto padded_offsets =
      tensor_of<std::int64_t, 1>({5}, {0, 150, 300, 450, 600});
  const auto x = uniform<2>({291, E}, 128);
  const auto d_y = uniform<2>({291, E}, 129);
  auto padded_x = filled<float, 2>({4 * kLength, E}, kNaN);
  auto padded_d_y = filled<float, 2>({4 * kLength, E}, 0);
  const auto place_of = [&](std::size_t row, std::size_t b) {
    return b * kLength + row - static_cast<std::size_t>(ragged_offsets(b));
  };
  const auto each_row = [&](const auto& visit) {
    for (std::size_t b = 0; b < 4; ++b) {
      for (auto row = static_cast<std::size_t>(ragged_offsets(b));
           row < static_cast<std::size_t>(ragged_offsets(b + 1)); ++row) {
        visit(row, place_of(row, b));
      }
    }
  };
  each_row([&](std::size_t row, std::size_t place) {
    std::copy_n(&x(row, 0), E, &padded_x(place, 0));
    std::copy_n(&d_y(row, 0), E, &padded_d_y(place, 0));
  });
  const auto want = gradients_of(x, params, d_y, view_of(ragged_offsets));
  const auto got =
      gradients_of(padded_x, params, padded_d_y, view_of(padded_offsets));
  auto want_x = filled<float, 2>({4 * kLength, E}, 0);
  each_row([&](std::size_t row, std::size_t place) {
    std::copy_n(&want.x(row, 0), E, &want_x(place, 0));
  });
  EXPECT_TRUE(same_bits(got.x, want_x));
  EXPECT_TRUE(same_bits(got.params.weight, want.params.weight));
  EXPECT_TRUE(same_bits(got.params.bias, want.params.bias));
}

TEST_P(LayerNormGradientTest, HasItsBitsOnAnyNumberOfThreadsAndInPlace) {
  const LayerNormParams params = params_of(389);  // large enough to be spread
  const auto x = uniform<2>({901, 389}, 130);
  const auto d_y = uniform<2>({901, 389}, 131);
  const auto offsets = tensor_of<std::int64_t, 1>({4}, {0, 200, 333, 901});
  const auto want = gradients_of(x, params, d_y, view_of(offsets),
                                 Executor::with_threads(1).value());
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    auto d_x = clone(d_y);
    auto of_params =
        layer_norm_backward(x, params, d_x, d_x, view_of(offsets),
                            Executor::with_threads(threads).value())
            .value();
    EXPECT_TRUE(same_gradients({std::move(d_x), std::move(of_params)}, want))
        << threads << " threads";
  }
}

TEST_P(LayerNormGradientTest, RowsMayLieApartAndBackwards) {
  const LayerNormParams params = params_of(21);
  const auto x = uniform<2>({5, 21}, 132);
  const auto d_y = uniform<2>({5, 21}, 133);
  const auto want = gradients_of(x, params, d_y);
  auto wide_x = filled<float, 2>({5, 30}, kNaN);  // backwards, with gaps
  auto wide_d_y = filled<float, 2>({5, 35}, kNaN);
  auto wide_d_x = filled<float, 2>({5, 40}, -7);
  for (std::size_t n = 0; n < 5; ++n) {
    std::copy_n(&x(n, 0), 21, &wide_x(4 - n, 0));
    std::copy_n(&d_y(n, 0), 21, &wide_d_y(n, 3));
  }
  const auto of_params =
      layer_norm_backward({&wide_x(4, 0), {5, 21}, {-30, 1}}, params,
                          {&wide_d_y(0, 3), {5, 21}, {35, 1}},
                          {wide_d_x.data(), {5, 21}, {40, 1}})
          .value();
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_TRUE(same_bits({&wide_d_x(n, 0), 21}, {&want.x(n, 0), 21}))
        << "row " << n;
    EXPECT_EQ(wide_d_x(n, 21), -7) << "behind row " << n;
  }
  EXPECT_TRUE(same_bits(of_params.weight, want.params.weight));
  EXPECT_TRUE(same_bits(of_params.bias, want.params.bias));
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerNormGradientTest,
                         testing::ValuesIn(targets()), target_name);

TEST(LayerNormGradientSizesTest, WithoutRowsOrElementsTheParametersHaveZeros) {
  for (const Extents<2>& extents : {Extents<2>{0, 8}, {3, 0}, {0, 0}}) {
    auto x = Tensor<float, 2>::create(extents).value();
    const std::size_t E = extents[1];
    const auto got = gradients_of(x, params_of(E), x);
    EXPECT_TRUE(same_bits(got.params.weight, filled<float, 1>({E}, 0)));
    EXPECT_TRUE(same_bits(got.params.bias, filled<float, 1>({E}, 0)));
  }
}

class LayerNormGradientErrorsTest : public testing::Test {
 protected:
  std::string message(TensorView<const float, 2> x,
                      const LayerNormParams& params,
                      TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
                      ErrorCode code, OffsetsView offsets = {}) {
    const auto result = layer_norm_backward(x, params, d_y, d_x, offsets);
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().code(), code);
    EXPECT_TRUE(same_bits(d_x_, filled<float, 2>({8, 8}, -7)));
    return result.error().message();
  }

  const Tensor<float, 2> x_ = uniform<2>({8, 8}, 134);
  Tensor<float, 2> d_x_ = filled<float, 2>({8, 8}, -7);
  const TensorView<const float, 2> columns_ = view_of(x_).permuted({1, 0});
  const TensorView<const float, 2> fewer_{x_.data(), {7, 8}, {8, 1}};
};

TEST_F(LayerNormGradientErrorsTest, NameTheArgumentOfAnotherShape) {
  constexpr auto kCode = ErrorCode::shape_mismatch;
  EXPECT_EQ(message(x_, params_of(7, 8), x_, d_x_, kCode),
            "layer_norm_backward: weight has shape (7), expected (E) = (8)");
  EXPECT_EQ(message(x_, params_of(8, 9), x_, d_x_, kCode),
            "layer_norm_backward: bias has shape (9), expected (E) = (8)");
  EXPECT_EQ(message(x_, params_of(8), fewer_, d_x_, kCode),
            "layer_norm_backward: d_y has shape (7, 8), expected (N, E) = "
            "(8, 8)");
  EXPECT_EQ(message(fewer_, params_of(8), fewer_, d_x_, kCode),
            "layer_norm_backward: d_x has shape (8, 8), expected (N, E) = "
            "(7, 8)");
}

TEST_F(LayerNormGradientErrorsTest, NameAStrideOfOtherThanOne) {
  constexpr auto kCode = ErrorCode::invalid_argument;
  EXPECT_EQ(message(columns_, params_of(8), x_, d_x_, kCode),
            "layer_norm_backward: x has stride 8 on its axis E, expected 1");
  EXPECT_EQ(message(x_, params_of(8), columns_, d_x_, kCode),
            "layer_norm_backward: d_y has stride 8 on its axis E, expected 1");
  EXPECT_EQ(message(x_, params_of(8), x_, d_x_.view().permuted({1, 0}), kCode),
            "layer_norm_backward: d_x has stride 8 on its axis E, expected 1");
}

TEST_F(LayerNormGradientErrorsTest, NameAnEpsThatIsNotPositive) {
  for (const double eps :
       {0.0, -1e-5, 1e-40, 1e39, std::numeric_limits<double>::quiet_NaN()}) {
    LayerNormParams params = params_of(8);
    params.eps = eps;
    EXPECT_THAT(message(x_, params, x_, d_x_, ErrorCode::invalid_argument),
                HasSubstr("expected a positive binary32 number"));
  }
}

TEST_F(LayerNormGradientErrorsTest, NameTheOffsetsThatDoNotCutTheRows) {
  const auto with = [&](const std::vector<std::int64_t>& numbers,
                        ErrorCode code) {
    const auto offsets = tensor_of<std::int64_t, 1>({numbers.size()}, numbers);
    return message(x_, params_of(8), x_, d_x_, code, view_of(offsets));
  };
  EXPECT_EQ(with({0, 5, 4, 8}, ErrorCode::out_of_range),
            "layer_norm_backward: offsets[2] is 4, expected offsets[1] = 5 or "
            "more");
  EXPECT_EQ(with({0, 5, 9}, ErrorCode::out_of_range),
            "layer_norm_backward: offsets[2] is 9, expected the number of "
            "rows, 8");
  EXPECT_EQ(with({}, ErrorCode::shape_mismatch),
            "layer_norm_backward: offsets is empty, expected B + 1 numbers, "
            "the first 0");
}

}  // namespace
}  // namespace headwise::testing_support
