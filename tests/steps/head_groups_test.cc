#include "headwise/steps/head_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/scores.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::same_bits;
using testing_support::tensor_of;

HeadGroups groups_of(std::size_t Hq, const std::vector<std::int64_t>& offsets) {
  return {Hq, offsets.size() - 1, offsets};
}

TEST(HeadGroupsTest, WithoutOffsetsEveryHeadIsReadByAsMany) {
  const HeadGroups groups(6, 3);
  EXPECT_TRUE(groups.check("test"));
  EXPECT_EQ(groups.first(2), 4u);
  EXPECT_EQ(groups.first(3), 6u);
  EXPECT_EQ(groups.size(1), 2u);
  EXPECT_EQ(groups.largest(), 2u);
  for (std::size_t h = 0; h < 6; ++h) {
    EXPECT_EQ(groups.kv_head(h), h / 2);
  }
}

TEST(HeadGroupsTest, OffsetsCutTheQueryHeads) {
  const std::vector<std::int64_t> offsets = {0, 1, 5, 7};
  const HeadGroups groups = groups_of(7, offsets);
  EXPECT_TRUE(groups.check("test"));
  const std::vector<std::size_t> kv_heads = {0, 1, 1, 1, 1, 2, 2};
  for (std::size_t h = 0; h < 7; ++h) {
    EXPECT_EQ(groups.kv_head(h), kv_heads[h]);
  }
  EXPECT_EQ(groups.first(1), 1u);
  EXPECT_EQ(groups.size(0), 1u);
  EXPECT_EQ(groups.size(1), 4u);
  EXPECT_EQ(groups.size(2), 2u);
  EXPECT_EQ(groups.largest(), 4u);
}

TEST(HeadGroupsTest, OffsetsThatCutThemWronglyAreErrors) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::string>> errors =
      {{{1, 3, 7}, "kv_groups[0] is 1, expected 0"},
       {{0, 0, 7}, "kv_groups[1] is 0, expected more than kv_groups[0] = 0"},
       {{0, 8, 7}, "kv_groups[2] is 7, expected more than kv_groups[1] = 8"},
       {{0, -1, 7}, "kv_groups[1] is -1, expected more than kv_groups[0] = 0"},
       {{0, 3, 6}, "kv_groups[2] is 6, expected the number of query heads, 7"}};
  for (const auto& [offsets, message] : errors) {
    const Status s = groups_of(7, offsets).check("attention");
    ASSERT_FALSE(s) << message;
    EXPECT_EQ(s.error().message(), "attention: " + message);
    EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
  }
  const std::vector<std::int64_t> offsets = {0, 3, 7};
  const Status s = HeadGroups(7, 3, {offsets.data(), {3}}).check("attention");
  ASSERT_FALSE(s);
  EXPECT_THAT(s, testing_support::IsAbout("kv_groups", "(3)", "(4)"));
  EXPECT_EQ(s.error().code(), ErrorCode::shape_mismatch);
}

TEST(HeadGroupsTest, AStepReadsTheHeadOfTheGroup) {
  // Three query heads, of which the last two share a key head.
  const auto query = tensor_of<float, 4>({1, 1, 3, 1}, {1, 2, 3});
  const auto key = tensor_of<float, 4>({1, 1, 2, 1}, {10, 100});
  const std::vector<std::int64_t> offsets = {0, 1, 3};
  auto out = Tensor<float, 4>::create({1, 3, 1, 1}).value();
  EXPECT_TRUE(scores(query, {key, {offsets.data(), {3}}}, 1, out,
                     Executor::default_executor()));
  EXPECT_TRUE(
      same_bits(out, tensor_of<float, 4>({1, 3, 1, 1}, {10, 200, 300})));
}

}  // namespace
}  // namespace headwise
