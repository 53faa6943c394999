// Layers whose input sizes are fixed after they were made.
#include <gtest/gtest.h>

#include "module/layer.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const MultiHeadAttentionConfig kOpen = {.embed_dim = 8,
                                        .num_heads = 2,
                                        .query_dim = kOpenSize,
                                        .kdim = kOpenSize,
                                        .vdim = kOpenSize};
constexpr InputSizes kSizes = {.query_dim = 5, .kdim = 6, .vdim = 7};

TEST(OpenSizesTest, FixSizesFixesThem) {
  auto layer = layer_of(kOpen);
  EXPECT_FALSE(layer.params());
  EXPECT_EQ(layer.config().kdim, kOpenSize);
  ASSERT_TRUE(layer.fix_sizes(kSizes));
  EXPECT_EQ(layer.config().query_dim, 5u);
  EXPECT_EQ(layer.config().kdim, 6u);
  EXPECT_EQ(layer.config().vdim, 7u);
  const auto query = uniform<3>({2, 3, 5}, 13);
  const auto key = uniform<3>({2, 4, 6}, 14);
  const auto value = uniform<3>({2, 4, 7}, 15);
  EXPECT_TRUE(layer.forward(query.view(), key.view(), value.view()));
  const auto other = layer.forward(key.view(), key.view(), value.view());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(),
            "multi_head_attention: query has shape (2, 4, 6), expected (B, "
            "Lq, query_dim) = (2, 4, 5)");
}

TEST(OpenSizesTest, TheParametersAreThoseOfALayerMadeWithTheSizes) {
  auto layer = layer_of(kOpen);
  ASSERT_TRUE(layer.fix_sizes(kSizes));
  MultiHeadAttentionConfig given = kOpen;
  given.query_dim = 5;
  given.kdim = 6;
  given.vdim = 7;
  EXPECT_TRUE(same_params(layer, layer_of(given)));
}

TEST(OpenSizesTest, SizesThatWereGivenStay) {
  auto layer = layer_of({.embed_dim = 8, .num_heads = 2, .kdim = kOpenSize});
  const Status other = layer.fix_sizes({.query_dim = 5, .kdim = 6});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(other.error().message(),
            "multi_head_attention: query_dim is 5, expected 8, which is fixed");
  EXPECT_EQ(layer.config().kdim, kOpenSize);
  ASSERT_TRUE(layer.fix_sizes({.kdim = 6}));
  EXPECT_EQ(layer.config().query_dim, 8u);
  EXPECT_EQ(layer.config().kdim, 6u);
}

TEST(OpenSizesTest, FixingThemAgainChangesNothing) {
  auto layer = layer_of(kOpen);
  ASSERT_TRUE(layer.fix_sizes(kSizes));
  const auto x = uniform<3>({1, 3, 5}, 16);
  const auto key = uniform<3>({1, 4, 6}, 17);
  const auto value = uniform<3>({1, 4, 7}, 18);
  const auto before = layer.forward(x.view(), key.view(), value.view()).value();
  ASSERT_TRUE(layer.fix_sizes(kSizes));
  ASSERT_TRUE(layer.fix_sizes({}));
  EXPECT_FALSE(layer.fix_sizes({.vdim = 8}));
  const auto after = layer.forward(x.view(), key.view(), value.view()).value();
  EXPECT_TRUE(same_bits(before.output, after.output));
}

TEST(OpenSizesTest, SizesThatAreMissingOrZeroAreErrorsAndStayOpen) {
  auto layer = layer_of(kOpen);
  const Status missing = layer.fix_sizes({.query_dim = 5, .kdim = 6});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(),
            "multi_head_attention: vdim is open, expected a size");
  const Status zero = layer.fix_sizes({.query_dim = 5, .kdim = 0, .vdim = 7});
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().message(),
            "multi_head_attention: kdim is 0, expected at least 1");
  EXPECT_EQ(layer.config().query_dim, kOpenSize);
  EXPECT_FALSE(layer.params());
}

TEST(OpenSizesTest, CallsOfALayerWithOpenSizesSayHowToFixThem) {
  auto layer = layer_of(kOpen);
  const auto x = uniform<3>({2, 3, 5}, 22);
  const auto row = uniform<2>({3, 5}, 23);
  const auto v = x.view();
  auto output = Tensor<float, 3>::create({2, 3, 8}).value();
  const auto as_status = [](const auto& result) {
    return result ? ok() : Status(result.error());
  };
  for (const Status& s :
       {as_status(layer.forward(v, v, v)),
        as_status(layer.forward(row.view(), row.view(), row.view())),
        as_status(layer.forward_for_backward(v, v, v)),
        layer.forward_into(v, v, v, output.view()),
        layer.update([](std::string_view, std::span<float>) {
          ADD_FAILURE() << "nothing is shown";
          return ok();
        })}) {
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(s.error().message(),
              "multi_head_attention: query_dim is open, expected a size: call "
              "fix_sizes() first");
  }
}

TEST(ForwardTest, AConstLayerTakesInputsWithoutABatch) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({1, 3, 8}, 24);
  const TensorView<const float, 2> rows(x.data(), {3, 8});
  EXPECT_TRUE(same_bits(
      layer.forward(rows, rows, rows).value().output.elements(),
      layer.forward(x.view(), x.view(), x.view()).value().output.elements()));
}

}  // namespace
}  // namespace headwise::testing_support
