// Statistics of attention weights that someone else computed: those of the same
// weights in attention(), which has statistics of its own.
#include "headwise/inspect/weights_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "headwise/base/random.h"
#include "headwise/base/tensor.h"

namespace headwise {
namespace {

using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor<float, 4> random_tensor(std::uint64_t seed, const Extents<4>& extents) {
  auto tensor = Tensor<float, 4>::create(extents).value();
  RandomStream(Seed{seed}, 0).fill_uniform(tensor.elements(), -2, 2);
  return tensor;
}

// Everything that statistics can ask for, in two causal sequences of which the
// second is padded.
struct Call {
  static constexpr std::size_t kQueries = 70;
  static constexpr std::size_t kKeys = 90;
  Tensor<float, 4> query = random_tensor(1, {2, kQueries, 3, 4});
  Tensor<float, 4> key = random_tensor(2, {2, kKeys, 3, 4});
  Tensor<bool, 2> separators = Tensor<bool, 2>::create({2, kKeys}).value();
  Tensor<std::int64_t, 1> lengths =
      Tensor<std::int64_t, 1>::create({2}).value();

  Call() {
    separators(0, 3) = separators(1, 40) = separators(1, 41) = true;
    lengths(0) = kQueries;
    lengths(1) = 50;
  }
  AttentionOptions options() const {
    return {.mask = causal(), .query_start = 15};
  }
  OperationOptions operation() const {
    return {.statistics = {.rows = true,
                           .top_keys = 5,
                           .columns = true,
                           .map = true,
                           .separators = separators,
                           .query_lengths = lengths}};
  }
};

// `tensor` in words, to compare it element by element.
template <class T>
void expect_near(const T& found, const T& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.extents(), expected.extents()) << what;
  const auto a = found.elements();
  const auto b = expected.elements();
  for (std::size_t n = 0; n < a.size(); ++n) {
    if (std::isnan(static_cast<double>(b[n]))) {
      ASSERT_TRUE(std::isnan(static_cast<double>(a[n]))) << what << " " << n;
    } else {
      ASSERT_NEAR(a[n], b[n], tolerance) << what << " " << n;
    }
  }
}

TEST(WeightsStatisticsTest, AreThoseOfAttentionWithTheseWeights) {
  const Call call;
  auto weights =
      Tensor<float, 4>::create({2, 3, Call::kQueries, Call::kKeys}).value();
  AttentionOptions options = call.options();
  options.attn_weights = AttnWeights::per_head;
  const TensorView<const float, 4> no_value(nullptr, {2, Call::kKeys, 3, 0});
  const TensorView<float, 4> no_output(nullptr, {2, Call::kQueries, 3, 0});
  const auto expected =
      attention_statistics(call.query, call.key, no_value,
                           {.output = no_output, .attn_weights = weights},
                           options, call.operation())
          .value();
  const auto found =
      weights_statistics(weights, {.query_start = 15}, call.operation())
          .value();
  // Rows of padding count nowhere.
  for (std::size_t h = 0; h < 3; ++h) {
    for (std::size_t i = 0; i < Call::kQueries; ++i) {
      for (std::size_t b = 0; i < (b == 0 ? 70U : 50U) && b < 2; ++b) {
        for (std::size_t k = 0; k < kStatistics; ++k) {
          ASSERT_NEAR(found.rows(b, h, i, k), expected.rows(b, h, i, k), 5e-5)
              << b << " " << h << " " << i << " " << k;
        }
        for (std::size_t n = 0; n < 5; ++n) {
          ASSERT_EQ(found.top_weights(b, h, i, n),
                    expected.top_weights(b, h, i, n));
        }
      }
    }
  }
  expect_near(found.columns, expected.columns, 1e-5, "columns");
  expect_near(found.map_mean, expected.map_mean, 1e-6, "map_mean");
  expect_near(found.map_largest, expected.map_largest, 0, "map_largest");
  expect_near(found.pooled.means, expected.pooled.means, 5e-5, "means");
  EXPECT_EQ(found.pooled.rows(0), 120);
}

// The weights of one head, (1, 1, 2, 3).
Tensor<float, 4> two_rows(const std::array<float, 6>& numbers) {
  auto weights = Tensor<float, 4>::create({1, 1, 2, 3}).value();
  std::copy(numbers.begin(), numbers.end(), weights.elements().begin());
  return weights;
}

TEST(WeightsStatisticsTest, ARowIsNotDividedByItsSum) {
  const auto weights = two_rows({0.5F, 0.25F, 0, 0, 0, 0});
  const auto found =
      weights_statistics(weights, {}, {.statistics = {.rows = true}}).value();
  EXPECT_EQ(found.row(0, 0, 0, Statistic::self), 0.5F);
  EXPECT_EQ(found.row(0, 0, 0, Statistic::next), 0.25F);
  EXPECT_FLOAT_EQ(
      found.row(0, 0, 0, Statistic::entropy),
      static_cast<float>(-0.5 * std::log(0.5) - 0.25 * std::log(0.25)));
  // A row without weight is a query without a key.
  EXPECT_TRUE(std::isnan(found.row(0, 0, 1, Statistic::entropy)));
  EXPECT_EQ(found.pooled.rows(0), 1);
  EXPECT_EQ(found.pooled.rows_without_key(0), 1);
}

TEST(WeightsStatisticsTest, ABadWeightIsNamedByItsIndex) {
  const auto message = [](float weight) {
    const auto weights = two_rows({0, 1, 0, 0, weight, 1});
    const auto found =
        weights_statistics(weights, {}, {.statistics = {.rows = true}});
    return found ? "" : found.error().message();
  };
  EXPECT_EQ(message(kNaN),
            "weights_statistics: attn_weights[0, 0, 1, 1] is nan, expected a "
            "weight from 0 to 1, or to 10 after dropout");
  EXPECT_THAT(message(-0.5F), HasSubstr("attn_weights[0, 0, 1, 1] is -0.5"));
  EXPECT_THAT(message(std::numeric_limits<float>::infinity()),
              HasSubstr("is inf"));
  EXPECT_THAT(message(11), HasSubstr("is 11"));
  EXPECT_EQ(message(10), "");
  EXPECT_EQ(message(0), "");
}

TEST(WeightsStatisticsTest, RowsOfPaddingMayHoldAnything) {
  const auto weights = two_rows({0, 1, 0, kNaN, -1, 7});
  auto lengths = Tensor<std::int64_t, 1>::create({1}).value();
  lengths(0) = 1;
  const auto found =
      weights_statistics(
          weights, {}, {.statistics = {.rows = true, .query_lengths = lengths}})
          .value();
  EXPECT_EQ(found.pooled.rows(0), 1);
  EXPECT_EQ(found.pooled.mean(0, Statistic::next), 1);
  EXPECT_EQ(uneven_rows(weights, lengths).rows, 1U);
}

TEST(UnevenRowsTest, CountsRowsThatDoNotSumToOne) {
  auto weights = Tensor<float, 4>::create({2, 2, 2, 2}).value();
  weights(0, 0, 0, 0) = 1;
  weights(0, 0, 1, 0) = 0.997F;  // rounded to bfloat16, say
  weights(1, 0, 1, 1) = 0.98F;
  weights(1, 1, 0, 0) = 0.7F;
  weights(1, 1, 0, 1) = 0.35F;
  const UnevenRows found = uneven_rows(weights);
  EXPECT_EQ(found.rows, 4U);
  EXPECT_EQ(found.uneven, 2U);
  EXPECT_NEAR(found.sum, 1.05, 1e-6);
  EXPECT_EQ(found.sequence, 1U);
  EXPECT_EQ(found.head, 1U);
  EXPECT_EQ(found.query, 0U);
}

}  // namespace
}  // namespace headwise
