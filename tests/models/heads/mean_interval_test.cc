#include "headwise/heads/mean_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "heads/known_sums.h"

namespace headwise {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Half of them 0, half 2: mean 1, half the interval is t / sqrt(n - 1).
double quantile_of(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t n = 0; n < count; n += 2) {
    values[n] = 2;
  }
  const MeanInterval interval = mean_interval(values);
  EXPECT_EQ(interval.mean, 1);
  return (interval.high - 1) * std::sqrt(static_cast<double>(count - 1));
}

// The usual tables, which have degrees of freedom = count - 1.
TEST(MeanIntervalTest, HasTheQuantilesOfStudentsTables) {
  EXPECT_NEAR(quantile_of(2), 12.7062047, 1e-6);
  EXPECT_NEAR(quantile_of(4), 3.1824463, 1e-6);
  EXPECT_NEAR(quantile_of(6), 2.5705818, 1e-6);
  EXPECT_NEAR(quantile_of(10), 2.2621572, 1e-6);
  EXPECT_NEAR(quantile_of(30), 2.0452296, 1e-6);
  EXPECT_NEAR(quantile_of(1000), 1.9623415, 1e-6);
}

TEST(MeanIntervalTest, HasThemForAnOddCount) {
  const MeanInterval odd = mean_interval(std::vector<double>{1, 2, 3});
  EXPECT_NEAR(odd.high, 2 + 4.3026527 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(odd.low, 2 - 4.3026527 / std::sqrt(3.0), 1e-6);
}

// The sum ends and the expansion begins between them.
TEST(MeanIntervalTest, IsSmoothWhereTheMethodChanges) {
  EXPECT_NEAR(quantile_of(200), 1.9719565, 1e-6);
  EXPECT_NEAR(quantile_of(202), 1.9718365, 1e-6);
}

TEST(MeanIntervalTest, LeavesOutWhatIsNoNumber) {
  const MeanInterval one = mean_interval(std::vector<double>{kNone, 3, kNone});
  EXPECT_EQ(one.count, 1U);
  EXPECT_EQ(one.mean, 3);
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_TRUE(std::isnan(one.high));
  EXPECT_EQ(mean_interval(std::vector<double>{kNone, 3, 3}).low, 3);
}

TEST(MeanIntervalTest, TakesSumsInPlaceOfNumbers) {
  const MeanInterval numbers = mean_interval(std::vector<double>{1, 2, 6});
  const MeanInterval sums = mean_interval(3, 3, 14);
  EXPECT_EQ(sums.count, 3U);
  EXPECT_EQ(sums.mean, 3);
  EXPECT_EQ(sums.low, numbers.low);
  EXPECT_EQ(sums.high, numbers.high);
}

TEST(MeanIntervalTest, IsNoNumberWithoutValues) {
  EXPECT_EQ(mean_interval({}).count, 0U);
  EXPECT_TRUE(std::isnan(mean_interval({}).mean));
  EXPECT_TRUE(std::isnan(mean_interval({}).high));
  const MeanInterval none = mean_interval(0, 0, 0);
  EXPECT_EQ(none.count, 0U);
  EXPECT_TRUE(std::isnan(none.mean));
  EXPECT_TRUE(std::isnan(none.low));
}

}  // namespace
}  // namespace headwise
