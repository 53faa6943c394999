
#include <gtest/gtest.h>

#include "headwise/steps/heads.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(MergeHeadsTest, TheHeadsOfATokenAreOneRunOfTheSameMemory) {
  const auto context = uniform<4>({2, 3, 4, 5}, 1);
  const auto merged = merge_heads(view_of(context)).value();
  EXPECT_EQ(merged.extents(), (Extents<3>{2, 3, 20}));
  for (std::size_t h = 0; h < 4; ++h) {
    for (std::size_t d = 0; d < 5; ++d) {
      EXPECT_EQ(&merged(1, 2, h * 5 + d), &context(1, 2, h, d));
    }
  }
}

TEST(MergeHeadsTest, MergingUndoesSplitting) {
  const auto x = uniform<3>({3, 2, 24}, 1);  // (L, B, wide)
  const TensorView<const float, 3> view(x.data(), {2, 3, 12}, {24, 48, 2});
  const auto merged = merge_heads(split_heads(view, 4).value()).value();
  EXPECT_EQ(merged.data(), view.data());
  EXPECT_EQ(merged.extents(), view.extents());
  EXPECT_EQ(merged.strides(), view.strides());
}

TEST(MergeHeadsTest, AContextOfItsOwnKeepsItsMemory) {
  auto context = uniform<4>({2, 3, 4, 5}, 1);
  const float* memory = context.data();
  const Tensor<float, 3> merged = merge_heads(std::move(context));
  EXPECT_EQ(merged.extents(), (Extents<3>{2, 3, 20}));
  EXPECT_EQ(merged.data(), memory);
}

TEST(MergeHeadsTest, HeadsThatDoNotLieSideBySideAreAnError) {
  const auto bhld = uniform<4>({2, 4, 3, 5}, 1);
  const auto merged = merge_heads(as_blhd(view_of(bhld)));
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(merged, IsAbout("context", "stride 15 on its axis H",
                              "D times the stride of D, 5"));
}

TEST(MergeHeadsTest, OneHeadMayLieAnywhere) {
  const auto bhld = uniform<4>({2, 1, 3, 5}, 1);
  const auto merged = merge_heads(as_blhd(view_of(bhld))).value();
  EXPECT_EQ(&merged(1, 2, 4), &bhld(1, 0, 2, 4));
}

}  // namespace
}  // namespace headwise::testing_support
