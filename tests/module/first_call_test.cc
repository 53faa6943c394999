// Layers whose input sizes come from the first call.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "module/layer.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::layer_of;
using testing_support::same_bits;
using testing_support::same_params;
using testing_support::uniform;

// ---- Sizes from the first call. ----

constexpr MultiHeadAttentionConfig kOpen = {.embed_dim = 8,
                                            .num_heads = 2,
                                            .query_dim = kFromFirstCall,
                                            .kdim = kFromFirstCall,
                                            .vdim = kFromFirstCall};

TEST(FromFirstCallTest, TheFirstCallFixesTheSizesForAllThatFollow) {
  auto layer = layer_of(kOpen);
  EXPECT_FALSE(layer.params());
  EXPECT_EQ(layer.config().kdim, kFromFirstCall);
  const auto query = uniform<3>({2, 3, 5}, 13);
  const auto key = uniform<3>({2, 4, 6}, 14);
  const auto value = uniform<3>({2, 4, 7}, 15);
  const auto first =
      layer.forward(query.view(), key.view(), value.view()).value();
  EXPECT_EQ(layer.config().query_dim, 5u);
  EXPECT_EQ(layer.config().kdim, 6u);
  EXPECT_EQ(layer.config().vdim, 7u);
  // A const call is legal from now on and gives the same.
  const auto second = std::as_const(layer)
                          .forward(query.view(), key.view(), value.view())
                          .value();
  EXPECT_TRUE(same_bits(first.output, second.output));
  const auto other = layer.forward(key.view(), key.view(), value.view());
  ASSERT_FALSE(other);
  EXPECT_THAT(other,
              testing_support::IsAbout("query", "(2, 4, 6)", "(2, 4, 5)"));
}

TEST(FromFirstCallTest, TheParametersAreThoseOfALayerMadeWithTheSizes) {
  auto layer = layer_of(kOpen);
  const auto query = uniform<2>({3, 5}, 16);
  const auto key = uniform<2>({4, 6}, 17);
  const auto value = uniform<2>({4, 7}, 18);
  ASSERT_TRUE(layer.forward(query.view(), key.view(), value.view()));
  MultiHeadAttentionConfig given = kOpen;
  given.query_dim = 5;
  given.kdim = 6;
  given.vdim = 7;
  EXPECT_TRUE(same_params(layer, layer_of(given)));
}

TEST(FromFirstCallTest, SizesThatWereGivenStay) {
  MultiHeadAttentionConfig config = {
      .embed_dim = 8, .num_heads = 2, .kdim = kFromFirstCall};
  auto layer = layer_of(config);
  const auto query = uniform<3>({2, 3, 8}, 19);
  const auto key = uniform<3>({2, 4, 6}, 20);
  const auto value = uniform<3>({2, 4, 8}, 21);
  const auto wrong = layer.forward(key.view(), key.view(), value.view());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong,
              testing_support::IsAbout("query", "(2, 4, 6)", "(2, 4, 8)"));
  ASSERT_TRUE(layer.forward(query.view(), key.view(), value.view()));
  EXPECT_EQ(layer.config().kdim, 6u);
}

TEST(FromFirstCallTest, AConstCallOnALayerWithOpenSizesIsAnError) {
  const auto layer = layer_of(kOpen);
  const auto x = uniform<3>({2, 3, 5}, 22);
  const auto result = layer.forward(x.view(), x.view(), x.view());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(result.error().message(),
            "multi_head_attention: an input size is kFromFirstCall and the "
            "layer is const, expected a first call on a layer that may "
            "change");
}

TEST(FromFirstCallTest, AFirstCallThatFailsLeavesTheSizesOpen) {
  auto layer = layer_of(kOpen);
  const auto query = uniform<3>({2, 3, 5}, 23);
  const auto key = uniform<3>({2, 4, 6}, 24);
  const auto other_length = uniform<3>({2, 9, 7}, 25);
  const auto failed =
      layer.forward(query.view(), key.view(), other_length.view());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed,
              testing_support::IsAbout("value", "(2, 9, 7)", "(2, 4, 7)"));
  EXPECT_FALSE(layer.params());
  EXPECT_EQ(layer.config().query_dim, kFromFirstCall);
  EXPECT_EQ(layer.config().vdim, kFromFirstCall);
  // An input of no features.
  const auto no_features = Tensor<float, 3>::create({2, 3, 0}).value();
  const auto none = layer.forward(no_features.view(), key.view(), key.view());
  ASSERT_FALSE(none);
  EXPECT_EQ(layer.config().query_dim, kFromFirstCall);
  EXPECT_TRUE(layer.forward(key.view(), key.view(), key.view()));
  EXPECT_EQ(layer.config().query_dim, 6u);
}

TEST(FromFirstCallTest, AFirstCallThatFailsByItsOptionsLeavesTheSizesOpen) {
  auto layer = layer_of(kOpen);
  const auto x = uniform<3>({2, 3, 5}, 26);
  ASSERT_FALSE(
      layer.forward(x.view(), x.view(), x.view(), {.dropout = {.p = 2.0}}));
  EXPECT_EQ(layer.config().query_dim, kFromFirstCall);
  EXPECT_FALSE(layer.params());
}

}  // namespace
}  // namespace headwise
