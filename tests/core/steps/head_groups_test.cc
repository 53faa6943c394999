#include "headwise/steps/head_groups.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/scores.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

HeadGroups groups_of(const std::vector<std::size_t>& sizes) {
  return HeadGroups::create(sizes).value();
}

TEST(HeadGroupsTest, WithoutSizesEveryHeadIsReadByAsMany) {
  const HeadGroups groups = groups_of({});
  EXPECT_TRUE(groups.even());
  EXPECT_TRUE(groups.check(6, 3, "test"));
  const HeadMap heads(6, 3, groups);
  EXPECT_EQ(heads.first(2), 4u);
  EXPECT_EQ(heads.first(3), 6u);
  EXPECT_EQ(heads.size(1), 2u);
  EXPECT_EQ(heads.largest(), 2u);
  for (std::size_t h = 0; h < 6; ++h) {
    EXPECT_EQ(heads.kv_head(h), h / 2);
  }
}

TEST(HeadGroupsTest, SizesDivideTheQueryHeads) {
  const HeadGroups groups = groups_of({1, 4, 2});
  EXPECT_TRUE(groups.check(7, 3, "test"));
  EXPECT_THAT(groups.offsets(), testing::ElementsAre(0u, 1u, 5u, 7u));
  const HeadMap heads(7, 3, groups);
  const std::vector<std::size_t> kv_heads = {0, 1, 1, 1, 1, 2, 2};
  for (std::size_t h = 0; h < 7; ++h) {
    EXPECT_EQ(heads.kv_head(h), kv_heads[h]);
  }
  EXPECT_EQ(heads.first(1), 1u);
  EXPECT_EQ(heads.size(0), 1u);
  EXPECT_EQ(heads.size(1), 4u);
  EXPECT_EQ(heads.size(2), 2u);
  EXPECT_EQ(heads.largest(), 4u);
}

TEST(HeadGroupsTest, ACopyOutlivesTheOriginal) {
  HeadGroups copy;
  {
    const HeadGroups groups = groups_of({2, 1});
    copy = groups;
  }
  EXPECT_THAT(copy.offsets(), testing::ElementsAre(0u, 2u, 3u));
}

TEST(HeadGroupsTest, SizesThatMakeNoSenseAreErrors) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const auto& [sizes, argument] :
       std::vector<std::pair<std::vector<std::size_t>, std::string>>{
           {{0, 3}, "sizes[0]"},
           {{3, 0}, "sizes[1]"},
           {{2, kMost}, "sizes[1]"}}) {
    const auto groups = HeadGroups::create(sizes);
    ASSERT_FALSE(groups) << argument;
    EXPECT_EQ(groups.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(groups.error().details().argument, argument);
  }
}

TEST(HeadGroupsTest, GroupsThatDoNotFitTheHeadsAreErrors) {
  const Status other_sum = groups_of({3, 3}).check(7, 2, "attention");
  ASSERT_FALSE(other_sum);
  EXPECT_EQ(other_sum.error().message(),
            "attention: kv_groups is for 6 query heads, expected Hq = 7");
  EXPECT_EQ(other_sum.error().code(), ErrorCode::invalid_argument);
  const Status other_count = groups_of({3, 4}).check(7, 3, "attention");
  ASSERT_FALSE(other_count);
  EXPECT_EQ(other_count.error().message(),
            "attention: kv_groups has shape (2), expected (Hkv) = (3)");
  EXPECT_EQ(other_count.error().code(), ErrorCode::shape_mismatch);
}

TEST(HeadGroupsTest, AStepReadsTheHeadOfTheGroup) {
  // Three query heads, of which the last two share a key head.
  const auto query = tensor_of<float, 4>({1, 1, 3, 1}, {1, 2, 3});
  const auto key = tensor_of<float, 4>({1, 1, 2, 1}, {10, 100});
  auto out = Tensor<float, 4>::create({1, 3, 1, 1}).value();
  EXPECT_TRUE(scores(query, {key, groups_of({1, 2})}, 1, out,
                     Executor::default_executor()));
  EXPECT_TRUE(
      same_bits(out, tensor_of<float, 4>({1, 3, 1, 1}, {10, 200, 300})));
}

}  // namespace
}  // namespace headwise::testing_support
