#include "unicode/packed_numbers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headwise::tokenizer {
namespace {

TEST(PackedNumbers, HaveMoreDigitsFrom70On) {
  PackedNumbers numbers("#hi#\nj#i\n$~g");
  for (const std::uint32_t number : {0U, 69U, 70U, 71U, 92U, 1587U}) {
    EXPECT_FALSE(numbers.is_at_end());
    EXPECT_EQ(numbers.next(), number);
  }
  EXPECT_TRUE(numbers.is_at_end());
}

TEST(PackedNumbers, DifferencesAreSigned) {
  PackedNumbers numbers("#$%&");
  for (const int difference : {0, -1, 1, -2}) {
    EXPECT_EQ(static_cast<int>(numbers.next_difference()), difference);
  }
}

TEST(CodeTable, RunsHaveRecentValuesOrOthers) {
  static constinit const CodeTable table(")$/(x(");  // is never freed
  std::vector<std::pair<std::uint32_t, unsigned>> runs;
  table.for_each_run([&](std::uint32_t length, unsigned value) {
    runs.emplace_back(length, value);
  });
  EXPECT_EQ(runs, (std::vector<std::pair<std::uint32_t, unsigned>>{
                      {2, 0}, {1, 1}, {3, 0}, {1, 200}}));
  EXPECT_EQ(table[1], 0U);
  EXPECT_EQ(table[2], 1U);
  EXPECT_EQ(table[6], 200U);
}

}  // namespace
}  // namespace headwise::tokenizer
