#include "headwise/steps/query_start.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape{.B = 2, .Lq = 7, .Lkv = 4};

TEST(QueryStartTest, ByDefaultTheFirstQueryStandsAtTheFirstKey) {
  EXPECT_EQ(QueryStart().of(1, kShape), 0);
  EXPECT_FALSE(QueryStart().differs_by_sequence());
}

TEST(QueryStartTest, ANumberHoldsForEverySequenceAndMayBeNegative) {
  for (const std::int64_t start : {5, -3}) {
    EXPECT_TRUE(QueryStart(start).check(kShape));
    EXPECT_EQ(QueryStart(start).of(0, kShape), start);
    EXPECT_EQ(QueryStart(start).of(1, kShape), start);
  }
}

TEST(QueryStartTest, EachSequenceMayHaveItsOwn) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {3, -1});
  const QueryStart start(starts);
  EXPECT_TRUE(start.check(kShape));
  EXPECT_TRUE(start.differs_by_sequence());
  EXPECT_EQ(start.of(0, kShape), 3);
  EXPECT_EQ(start.of(1, kShape), -1);
}

TEST(QueryStartTest, BottomRightPutsTheLastQueryAtTheLastKey) {
  const QueryStart start = QueryStart::bottom_right();
  EXPECT_TRUE(start.check(kShape));
  EXPECT_EQ(start.of(0, kShape), -3);
  EXPECT_EQ(start.of(0, {.Lq = 2, .Lkv = 9}), 7);
}

TEST(QueryStartTest, AnotherNumberOfStartsThanSequencesIsAnError) {
  const auto starts = tensor_of<std::int64_t, 1>({3}, {0, 0, 0});
  const Status s = QueryStart(starts).check(kShape);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(s, IsAbout("query_start", "(3)", "(2)"));
}

TEST(QueryStartTest, ANumberSoLargeThatPositionsOverflowIsAnError) {
  const std::int64_t limit = std::int64_t{1} << 62;
  EXPECT_TRUE(QueryStart(limit).check(kShape));
  EXPECT_TRUE(QueryStart(-limit).check(kShape));
  for (const std::int64_t start : {limit + 1, -limit - 1}) {
    const auto starts = tensor_of<std::int64_t, 1>({2}, {0, start});
    for (const QueryStart& each : {QueryStart(start), QueryStart(starts)}) {
      const Status s = each.check(kShape);
      ASSERT_FALSE(s);
      EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
      EXPECT_EQ(s.error().message(), "attention: query_start is " +
                                         std::to_string(start) +
                                         ", expected a number from -2^62 to "
                                         "2^62");
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
