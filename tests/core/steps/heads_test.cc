#include "headwise/steps/heads.h"

#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(SplitHeadsTest, AHeadIsARunOfFeaturesOfTheSameMemory) {
  const auto x = uniform<3>({2, 3, 8}, 1);
  const auto heads = split_heads(view_of(x), 4).value();
  EXPECT_EQ(heads.extents(), (Extents<4>{2, 3, 4, 2}));
  for (std::size_t h = 0; h < 4; ++h) {
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(&heads(1, 2, h, d), &x(1, 2, h * 2 + d));
    }
  }
}

TEST(SplitHeadsTest, OneHeadHasAllFeaturesAndAsManyHeadsAsFeaturesHaveOne) {
  const auto x = uniform<3>({1, 2, 6}, 1);
  EXPECT_EQ(split_heads(view_of(x), 1).value().extents(),
            (Extents<4>{1, 2, 1, 6}));
  EXPECT_EQ(split_heads(view_of(x), 6).value().extents(),
            (Extents<4>{1, 2, 6, 1}));
}

TEST(SplitHeadsTest, AStridedInputStaysWhereItIs) {
  const auto x = uniform<3>({3, 2, 12}, 1);  // (L, B, wide)
  const TensorView<const float, 3> every_second(x.data(), {2, 3, 6},
                                                {12, 24, 2});
  const auto heads = split_heads(every_second, 3).value();
  EXPECT_EQ(heads.extents(), (Extents<4>{2, 3, 3, 2}));
  EXPECT_EQ(&heads(1, 2, 2, 1), &x(2, 1, 10));
}

TEST(SplitHeadsTest, WritingThroughTheHeadsWritesTheFeatures) {
  auto x = uniform<3>({1, 2, 4}, 1);
  const TensorView<float, 4> heads = split_heads(x, 2).value();
  heads(0, 1, 1, 0) = 42;
  EXPECT_EQ(x(0, 1, 2), 42);
}

TEST(SplitHeadsTest, HeadsThatDoNotDivideTheFeaturesAreAnError) {
  const auto x = uniform<3>({1, 2, 6}, 1);
  for (const auto& [num_heads, message] :
       {std::pair(0u,
                  "split_heads: num_heads is 0, expected a divisor of the "
                  "features, 6"),
        std::pair(4u,
                  "split_heads: num_heads is 4, expected a divisor of the "
                  "features, 6")}) {
    const auto heads = split_heads(view_of(x), num_heads);
    ASSERT_FALSE(heads);
    EXPECT_EQ(heads.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(heads.error().message(), message);
  }
}

TEST(AverageHeadsTest, EachWeightIsTheMeanOverTheHeads) {
  // (B, H, Lq, Lkv) = (1, 2, 1, 3)
  const auto attn_weights =
      tensor_of<float, 4>({1, 2, 1, 3}, {0.5f, 0.25f, 0.25f, 0, 0.75f, 0.25f});
  auto mean = Tensor<float, 4>::create({1, 1, 1, 3}).value();
  EXPECT_TRUE(average_heads(attn_weights, mean));
  EXPECT_THAT(mean.elements(), ElementsAre(0.25f, 0.5f, 0.25f));
}

TEST(AverageHeadsTest, HeadsAreAddedInTheirOrder) {
  // In another order the small ones would not be lost.
  const auto attn_weights =
      tensor_of<float, 4>({1, 4, 1, 1}, {1, 0x1p-25f, 0x1p-25f, 0x1p-25f});
  auto mean = Tensor<float, 4>::create({1, 1, 1, 1}).value();
  EXPECT_TRUE(average_heads(attn_weights, mean));
  EXPECT_EQ(mean(0, 0, 0, 0), 0.25f);
}

}  // namespace
}  // namespace headwise::testing_support
