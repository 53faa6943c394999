#include "convert/tensor_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "operation/layer_choice.h"

namespace headwise::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ParamEntry entry(std::vector<std::size_t> shape, DType dtype = DType::float32) {
  return {dtype, std::move(shape), 4};
}

std::vector<std::string> names_of(const TensorGroup& group) {
  std::vector<std::string> names;
  for (const TensorRow& row : group.rows) {
    names.push_back(row.name);
  }
  return names;
}

TEST(TensorGroupsTest, LayersThatAreAlikeStandOnce) {
  ParamEntries entries = {{"a.bias", entry({2})}, {"z", entry({})}};
  for (const int number : {0, 2, 10}) {
    const std::string layer = "layer." + std::to_string(number);
    entries.emplace(layer + ".w", entry({2, 3}));
    entries.emplace(layer + ".b", entry({3}));
  }
  const auto groups = group_tensors(entries);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(names_of(groups[0]), ElementsAre("a.bias"));
  EXPECT_THAT(groups[0].numbers, IsEmpty());
  EXPECT_EQ(groups[1].before, "layer.");
  EXPECT_THAT(groups[1].numbers, ElementsAre(0, 2, 10));
  EXPECT_THAT(names_of(groups[1]), ElementsAre(".b", ".w"));
  EXPECT_THAT(groups[1].rows[1].shape, ElementsAre(2, 3));
  EXPECT_THAT(names_of(groups[2]), ElementsAre("z"));
}

TEST(TensorGroupsTest, TimeGrowsWithTheNumberOfLayers) {
  ParamEntries entries;
  for (int number = 0; number < 100'000; ++number) {
    entries.emplace("layer." + std::to_string(number) + ".w", entry({2}));
  }
  const std::clock_t begin = std::clock();
  EXPECT_EQ(group_tensors(entries).size(), 1u);
  // Copying the numbers for each layer took 10 s.
  EXPECT_LT(std::clock() - begin, 3 * CLOCKS_PER_SEC);
}

TEST(TensorGroupsTest, WhatDiffersStandsApart) {
  const auto groups = group_tensors({{"l.0.w", entry({2})},
                                     {"l.1.w", entry({2})},
                                     {"l.2.w", entry({3})},
                                     {"l.3.w", entry({3})},
                                     {"l.4.w", entry({2}, DType::float16)},
                                     {"l.5.v", entry({2})}});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(groups[0].numbers, ElementsAre(0, 1));
  EXPECT_THAT(groups[1].numbers, ElementsAre(2, 3));
  EXPECT_THAT(names_of(groups[2]), ElementsAre("l.4.w", "l.5.v"));
}

TEST(TensorGroupsTest, OnlyNumbersOfTheirOwnCount) {
  const auto groups = group_tensors({{"a0.w", entry({2})},
                                     {"a1.w", entry({2})},
                                     {"b.00", entry({2})},
                                     {"b.01", entry({2})},
                                     {"c/0/w", entry({2})},
                                     {"c/1/w", entry({2})},
                                     {"d.0", entry({2})},
                                     {"d.1", entry({2})}});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(names_of(groups[0]), ElementsAre("a0.w", "a1.w", "b.00", "b.01"));
  EXPECT_EQ(groups[1].before, "c/");
  EXPECT_EQ(groups[2].before, "d.");
  EXPECT_THAT(names_of(groups[2]), ElementsAre(""));
}

TEST(RangesTextTest, NeighboursAreARange) {
  const auto text = [](std::vector<std::size_t> numbers) {
    return ranges_text(numbers);
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({3}), "3");
  EXPECT_EQ(text({0, 1, 2}), "0-2");
  EXPECT_EQ(text({0, 2, 3, 7}), "0, 2-3, 7");
}

}  // namespace
}  // namespace headwise::cli
