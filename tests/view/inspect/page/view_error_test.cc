#include "inspect/page/view_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "headwise/base/half.h"
#include "headwise/base/random.h"
#include "headwise/base/tensor.h"
#include "inspect/page/view_layer.h"

namespace headwise {
namespace {

double as_half(float x) { return widened(narrowed_to_float16(x)); }

// What the page shows less what is true, in binary64, of every pair.
double largest_error(const ViewedHead& head) {
  double error = 0;
  for (std::size_t i = 0; i < head.query.extent(0); ++i) {
    std::vector<double> scores;
    std::vector<double> shown;
    for (std::size_t j = 0; j < head.key.extent(0); ++j) {
      double exact = 0;
      double half = 0;
      for (std::size_t d = 0; d < head.query.extent(1); ++d) {
        exact += static_cast<double>(head.query(i, d)) *
                 static_cast<double>(head.key(j, d));
        half += as_half(head.query(i, d)) * as_half(head.key(j, d));
      }
      scores.push_back(head.spec.scale * exact);
      shown.push_back(head.spec.scale * half);
    }
    double sum = 0;
    for (const double score : scores) {
      sum += std::exp(score);
    }
    for (std::size_t j = 0; j < scores.size(); ++j) {
      error = std::max(
          error,
          std::abs(std::exp(shown[j] - static_cast<double>(head.lse(i))) -
                   std::exp(scores[j]) / sum));
    }
  }
  return error;
}

// Its head 0, of 1100 keys.
double error_of(const Tensor<float, 4>& query, const Tensor<float, 4>& key,
                double& truth) {
  const ShownLayer layer =
      ShownLayer::create(query, key, {}, {}, 0, true).value();
  truth = largest_error(layer.head(0));
  return tile_error(layer.head(0));
}

constexpr Extents<4> kQueries = {1, 3, 1, 8};
constexpr Extents<4> kKeys = {1, 1100, 1, 8};

TEST(TileErrorTest, IsABoundThatIsNear) {
  auto query = Tensor<float, 4>::create(kQueries).value();
  auto key = Tensor<float, 4>::create(kKeys).value();
  RandomStream(Seed{1}, 0).fill_normal(query.elements());
  RandomStream(Seed{2}, 0).fill_normal(key.elements());
  double truth = 0;
  const double error = error_of(query, key, truth);
  EXPECT_GE(error, truth);
  EXPECT_LT(error, 3 * truth + 1e-5);
}

// The keys that are known to be the largest lose nothing in binary16, those
// behind them do.
TEST(TileErrorTest, CoversTheKeysBehindTheLargest) {
  auto query = Tensor<float, 4>::create(kQueries).value();
  auto key = Tensor<float, 4>::create(kKeys).value();
  std::ranges::fill(query.elements(), 64.0f);
  for (std::size_t j = 0; j < kKeys[1]; ++j) {
    const float x = j < 64 ? 1.0f : 1.0f - 0x1p-13f;  // binary16: 1
    std::fill_n(&key(0, j, 0, 0), kKeys[3], x);
  }
  double truth = 0;
  const double error = error_of(query, key, truth);
  EXPECT_GT(truth, 1e-5);
  EXPECT_GE(error, truth);
}

TEST(RoundingErrorTest, IsThatOfRowsOfRoundedScores) {
  auto query = Tensor<float, 4>::create({1, 9, 1, 8}).value();
  auto key = Tensor<float, 4>::create({1, 30, 1, 8}).value();
  RandomStream(Seed{1}, 0).fill_uniform(query.elements(), -9, 9);
  RandomStream(Seed{2}, 0).fill_uniform(key.elements(), -9, 9);
  const ShownLayer layer =
      ShownLayer::create(query, key, {}, {}, 0, true).value();
  const ViewedHead head = layer.head(0);
  double truth = 0;
  double lse = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    std::array<double, 30> exact{};
    std::array<double, 30> half{};
    std::array<double, 2> sums{};
    for (std::size_t j = 0; j < 30; ++j) {
      for (std::size_t d = 0; d < 8; ++d) {
        exact[j] += head.spec.scale * static_cast<double>(query(0, i, 0, d)) *
                    static_cast<double>(key(0, j, 0, d));
        half[j] += head.spec.scale * as_half(query(0, i, 0, d)) *
                   as_half(key(0, j, 0, d));
      }
      sums[0] += std::exp(exact[j]);
      sums[1] += std::exp(half[j]);
    }
    for (std::size_t j = 0; j < 30; ++j) {
      truth = std::max(truth, std::abs(std::exp(half[j]) / sums[1] -
                                       std::exp(exact[j]) / sums[0]));
    }
    lse = std::max(lse, std::abs(std::log(sums[1] / sums[0])));
  }
  EXPECT_GT(truth, 1e-4);
  EXPECT_GE(rounding_error(head), truth);
  EXPECT_LT(rounding_error(head), truth + 1e-4);
  EXPECT_NEAR(lse_error(head), lse, 2e-5);
}

}  // namespace
}  // namespace headwise
