#include "heads/replaced_heads.h"

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(ReplacedHeadsTest, AverageTheValuesThatAHeadReadsInGroups) {
  const auto value = uniform<4>({1, 5, 2, 3}, 1);
  auto context = uniform<4>({1, 5, 4, 3}, 2);
  const std::vector<std::size_t> heads = {0, 2, 3};
  const std::vector<std::size_t> reads = {0, 1, 1};
  const std::vector<std::int64_t> offsets = {0, 5};
  const float kept = context(0, 4, 1, 2);
  replace_heads({heads, Replacement::uniform, offsets, false, {}},
                {value, context});
  for (std::size_t n = 0; n < heads.size(); ++n) {
    for (std::size_t d = 0; d < 3; ++d) {
      float mean = 0;
      for (std::size_t row = 0; row < 5; ++row) {
        mean += value(0, row, reads[n], d) / 5;
      }
      EXPECT_NEAR(context(0, 2, heads[n], d), mean, 1e-6);
    }
  }
  EXPECT_EQ(context(0, 4, 1, 2), kept);
}

// As when a head of one group was pruned.
TEST(ReplacedHeadsTest, AverageTheValuesThatAHeadReadsInUnevenGroups) {
  const auto value = uniform<4>({1, 5, 2, 3}, 1);
  auto context = uniform<4>({1, 5, 3, 3}, 2);
  const std::vector<std::size_t> heads = {0, 1, 2};
  const std::vector<std::size_t> reads = {0, 1, 1};
  const std::vector<std::int64_t> offsets = {0, 5};
  const std::vector<std::size_t> groups = {1, 2};
  replace_heads({heads, Replacement::uniform, offsets, true, {}},
                {value, context, HeadGroups::create(groups).value()});
  for (std::size_t n = 0; n < heads.size(); ++n) {
    EXPECT_EQ(context(0, 0, n, 1), value(0, 0, reads[n], 1));
    EXPECT_NEAR(context(0, 1, n, 2),
                (value(0, 0, reads[n], 2) + value(0, 1, reads[n], 2)) / 2,
                1e-6);
  }
}

}  // namespace
}  // namespace headwise::testing_support
