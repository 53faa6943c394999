#include "headwise/steps/t5_bias.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headwise/steps/softmax.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 2, .Lkv = 3, .D = 1, .Dv = 1};

BoundT5Bias bound(const Tensor<float, 2>& table, std::int64_t max_distance,
                  bool bidirectional) {
  return BoundT5Bias::bind({view_of(table), max_distance, bidirectional},
                           {kShape, {}, "test"})
      .value();
}

// The distances of earlier keys at which another bucket begins.
std::vector<std::int64_t> steps(const BoundT5Bias& bias, std::size_t buckets) {
  std::vector<std::int64_t> steps;
  for (std::int64_t x = 1; steps.size() < buckets - 1; ++x) {
    if (bias.bucket(-x) != bias.bucket(1 - x)) {
      EXPECT_EQ(bias.bucket(-x), bias.bucket(1 - x) + 1) << x;
      steps.push_back(x);
    }
  }
  return steps;
}

// Those of T5: 32 buckets up to 128.
TEST(T5BucketsTest, AreThoseOfT5) {
  const auto table = filled<float, 2>({32, 2}, 0);
  EXPECT_THAT(steps(bound(table, 128, true), 16),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91));
  EXPECT_THAT(
      steps(bound(table, 128, false), 32),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 21,
                  24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113));
}

TEST(T5BucketsTest, OfLaterKeysFollowThoseOfEarlierOnes) {
  const auto table = filled<float, 2>({32, 2}, 0);
  const BoundT5Bias both = bound(table, 128, true);
  const BoundT5Bias earlier = bound(table, 128, false);
  EXPECT_EQ(both.bucket(0), 0u);
  for (std::int64_t x = 1; x < 300; ++x) {
    EXPECT_EQ(both.bucket(x), both.bucket(-x) + 16);
    EXPECT_EQ(earlier.bucket(x), 0u);
  }
  for (const std::int64_t far :
       {std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    EXPECT_EQ(both.bucket(far), 31u);
    EXPECT_EQ(both.bucket(-far), 15u);
    EXPECT_EQ(earlier.bucket(far), 0u);
    EXPECT_EQ(earlier.bucket(-far), 31u);
  }
}

// A whole power of max_distance / E begins a bucket: 16 * 4 is halfway to 256.
TEST(T5BucketsTest, BeginAtWholePowers) {
  const auto table = filled<float, 2>({32, 2}, 0);
  const BoundT5Bias bias = bound(table, 256, false);
  EXPECT_EQ(bias.bucket(-63), 23u);
  EXPECT_EQ(bias.bucket(-64), 24u);
  const auto odd = filled<float, 2>({48, 2}, 0);
  EXPECT_EQ(bound(odd, 81, false).bucket(-36), 32u);  // 24 * (81 / 24)^(1/3)
}

TEST(T5BucketsTest, FollowTheFormulaForEveryNumberOfThem) {
  for (const std::size_t n : {2u, 3u, 5u, 8u, 20u, 64u}) {
    const auto table = filled<float, 2>({n, 2}, 0);
    const auto E = static_cast<std::int64_t>(n / 2);
    for (const std::int64_t most :
         {E + 1, E + 2, 3 * E + 1, std::int64_t{1000}}) {
      const BoundT5Bias bias = bound(table, most, false);
      const double exact = static_cast<double>(E);
      const double wide = static_cast<double>(n) - exact;
      for (std::int64_t x = 0; x < most + 9; ++x) {
        const double step = std::log(static_cast<double>(x) / exact) /
                            std::log(static_cast<double>(most) / exact) * wide;
        const double bucket = std::min(exact + std::floor(step + 1e-9),
                                       static_cast<double>(n) - 1);
        EXPECT_EQ(bias.bucket(-x),
                  static_cast<std::size_t>(x < E ? double(x) : bucket))
            << n << " buckets, " << most << ", " << x;
      }
    }
  }
}

TEST(T5BiasTest, AddsTheNumberOfTheBucketToEachScore) {
  const auto scores = filled<float, 4>({2, 2, 2, 3}, 10);
  const auto table =
      tensor_of<float, 2>({4, 2}, {0, 100, 1, 200, 2, 300, 3, 400});
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, 2});
  auto sums = filled<float, 4>({2, 2, 2, 3}, 42);
  const auto add = [&](bool bidirectional) {
    const auto bias = BoundT5Bias::bind({view_of(table), 3, bidirectional},
                                        {kShape, starts, "test"})
                          .value();
    EXPECT_TRUE(
        add_t5_bias(view_of(scores), bias, sums, Executor::default_executor()));
  };
  add(true);
  EXPECT_THAT(sums.elements(),
              ElementsAre(10, 13, 13, 11, 10, 13,          // b 0, h 0
                          110, 410, 410, 210, 110, 410,    // b 0, h 1
                          11, 11, 10, 11, 11, 11,          // b 1, h 0
                          210, 210, 110, 210, 210, 210));  // b 1, h 1
  add(false);
  EXPECT_THAT(sums.elements(),
              ElementsAre(10, 10, 10, 11, 10, 10,          // b 0, h 0
                          110, 110, 110, 210, 110, 110,    // b 0, h 1
                          12, 11, 10, 13, 12, 11,          // b 1, h 0
                          310, 210, 110, 410, 310, 210));  // b 1, h 1
}

TEST(T5BiasTest, ErrorsNameWhatDoesNotFit) {
  const auto error_of = [](const Tensor<float, 2>& table,
                           std::int64_t max_distance, bool bidirectional) {
    const auto bias = BoundT5Bias::bind(
        {view_of(table), max_distance, bidirectional}, {kShape, {}, "test"});
    return bias ? std::string() : bias.error().message();
  };
  const auto zeros = [](std::size_t buckets, std::size_t heads) {
    return filled<float, 2>({buckets, heads}, 0);
  };
  EXPECT_EQ(error_of(zeros(32, 3), 128, true),
            "test: t5_bias.table has shape (32, 3), expected (buckets, Hq) = "
            "(32, 2)");
  EXPECT_EQ(
      error_of(zeros(1, 2), 128, false),
      "test: t5_bias.table has shape (1, 2), expected at least 2 buckets");
  EXPECT_EQ(error_of(zeros(2, 2), 128, true),
            "test: t5_bias.table has shape (2, 2), expected an even number of "
            "buckets, at least 4, for both directions");
  EXPECT_EQ(error_of(zeros(33, 2), 128, true),
            "test: t5_bias.table has shape (33, 2), expected an even number of "
            "buckets, at least 4, for both directions");
  EXPECT_EQ(error_of(zeros(32, 2), 8, true),
            "test: t5_bias.max_distance is 8, expected more than 8, the "
            "distances with a bucket of their own");
  EXPECT_EQ(error_of(zeros(32, 2), -1, false),
            "test: t5_bias.max_distance is -1, expected more than 16, the "
            "distances with a bucket of their own");
  EXPECT_EQ(error_of(tensor_of<float, 2>({2, 2}, {0, 1, kNaN, 1}), 8, false),
            "test: t5_bias.table[1,0] is nan, expected a number from -2e38 to "
            "2e38");
  EXPECT_EQ(
      error_of(tensor_of<float, 2>({2, 2}, {0, kMinusInf, 1, 1}), 8, false),
      "test: t5_bias.table[0,1] is -inf, expected a number from -2e38 to "
      "2e38");
  EXPECT_FALSE(BoundT5Bias::bind({}, {kShape, {}, "test"}).value().given());
}

}  // namespace
}  // namespace headwise::testing_support
