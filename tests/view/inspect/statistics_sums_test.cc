#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "headwise/inspect/weights_statistics.h"

namespace headwise {
namespace {

// One head whose statistic k has the mean `mean + k`.
PooledStatistics sequence(std::int64_t rows, float mean,
                          std::int64_t without_key = 0) {
  PooledStatistics made{Tensor<float, 2>::create({1, kStatistics}).value(),
                        Tensor<std::int64_t, 1>::create({1}).value(),
                        Tensor<std::int64_t, 1>::create({1}).value()};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    made.means(0, k) = mean + static_cast<float>(k);
  }
  made.rows(0) = rows;
  made.rows_without_key(0) = without_key;
  return made;
}

TEST(StatisticsSumsTest, ASequenceCountsByItsRows) {
  StatisticsSums sums(2);
  sums.add(1, sequence(3, 0.5f));
  sums.add(1, sequence(1, 2.5f, 7));
  EXPECT_EQ(sums.mean(1, Statistic::entropy), 1.0);
  EXPECT_EQ(sums.mean(1, Statistic::separator), 8.0);
  EXPECT_EQ(sums.rows(1), 4);
  EXPECT_EQ(sums.rows_without_key(1), 7);
  EXPECT_EQ(sums.rows(0), 0);
  EXPECT_TRUE(std::isnan(sums.mean(0, Statistic::entropy)));
}

TEST(StatisticsSumsTest, ASequenceWithoutRowsChangesNoMean) {
  StatisticsSums sums(1);
  sums.add(0, sequence(2, 0.25f));
  sums.add(0, sequence(0, std::numeric_limits<float>::quiet_NaN(), 5));
  EXPECT_EQ(sums.mean(0, Statistic::entropy), 0.25);
  EXPECT_EQ(sums.rows_without_key(0), 5);
}

// Sums of binary32 means differ from those of groups in their last bits, so
// the order of additions is part of the result.
TEST(StatisticsSumsTest, GroupsAreAddedAsWhole) {
  StatisticsSums corpus(1);
  double expected = 0;
  for (int g = 0; g < 5; ++g) {
    StatisticsSums group(1);
    double sum = 0;
    for (int s = 0; s < 7; ++s) {
      const float mean = 1.0f / static_cast<float>(3 + 7 * g + s);
      group.add(0, sequence(1 + s, mean));
      sum += static_cast<double>(1 + s) * static_cast<double>(mean);
    }
    corpus.add(group);
    expected += sum;
  }
  EXPECT_EQ(corpus.mean(0, Statistic::entropy), expected / (5 * 28));
}

TEST(StatisticsSumsTest, ItsNumbersAreAllThereIs) {
  StatisticsSums sums(2);
  sums.add(0, sequence(3, 0.1f, 2));
  StatisticsSums copy(2);
  std::copy(sums.values().begin(), sums.values().end(), copy.values().begin());
  EXPECT_EQ(copy.mean(0, Statistic::next), sums.mean(0, Statistic::next));
  EXPECT_EQ(copy.rows(0), 3);
  EXPECT_EQ(copy.rows_without_key(0), 2);
}

}  // namespace
}  // namespace headwise
