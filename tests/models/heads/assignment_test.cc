#include "heads/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/tensor.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Columns = std::vector<std::optional<std::size_t>>;

Tensor<double, 2> random_gains(std::size_t rows, std::size_t columns,
                               std::uint32_t stream) {
  std::vector<float> numbers(rows * columns);
  RandomStream(Seed{7}, stream).fill_uniform(numbers, -1, 1);
  return tensor_of<double>(Extents<2>{rows, columns},
                           {numbers.begin(), numbers.end()});
}

double sum_of(const Tensor<double, 2>& gains, const Columns& columns) {
  double sum = 0;
  for (std::size_t row = 0; row < columns.size(); ++row) {
    sum += columns[row] ? gains(row, *columns[row]) : 0;
  }
  return sum;
}

// Of all ways to give each of the fewer rows or columns one of the others.
double best_of_all(const Tensor<double, 2>& gains) {
  const auto [rows, columns] = gains.extents();
  std::vector<std::size_t> order(std::max(rows, columns));
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = -1e9;
  do {
    double sum = 0;
    for (std::size_t n = 0; n < std::min(rows, columns); ++n) {
      sum += rows < columns ? gains(n, order[n]) : gains(order[n], n);
    }
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(AssignmentTest, GivesTheSmallerGainWhereTheSumIsLarger) {
  const auto gains = tensor_of<double>(Extents<2>{2, 2}, {3, 2, 2, 0});
  EXPECT_EQ(best_assignment(gains), (Columns{1, 0}));
}

TEST(AssignmentTest, HasTheLargestSumOfAllAssignments) {
  std::uint32_t stream = 0;
  for (std::size_t rows = 1; rows <= 6; ++rows) {
    for (std::size_t columns = 1; columns <= 6; ++columns) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const auto gains = random_gains(rows, columns, stream++);
        EXPECT_NEAR(sum_of(gains, best_assignment(gains)), best_of_all(gains),
                    1e-12)
            << rows << " rows, " << columns << " columns";
      }
    }
  }
}

TEST(AssignmentTest, UsesEachColumnOnceAndAsManyAsItCan) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{40, 60}, {60, 40}, {50, 50}}) {
    const auto gains = random_gains(rows, columns, 1);
    std::set<std::size_t> used;
    std::size_t pairs = 0;
    for (const auto& column : best_assignment(gains)) {
      if (column) {
        used.insert(*column);
        ++pairs;
      }
    }
    EXPECT_EQ(pairs, std::min(rows, columns));
    EXPECT_EQ(used.size(), pairs);
  }
}

// With equal gains every assignment is a best one.
TEST(AssignmentTest, EndsWhereAllGainsAreEqual) {
  const auto gains = Tensor<double, 2>::create({30, 30}).value();
  EXPECT_EQ(best_assignment(gains).size(), 30U);
}

TEST(AssignmentTest, HasNoPairsWithoutRowsOrColumns) {
  const auto no_columns = Tensor<double, 2>::create({2, 0}).value();
  const auto no_rows = Tensor<double, 2>::create({0, 2}).value();
  EXPECT_EQ(best_assignment(no_columns), (Columns{std::nullopt, std::nullopt}));
  EXPECT_TRUE(best_assignment(no_rows).empty());
}

}  // namespace
}  // namespace headwise::testing_support
