#include <gtest/gtest.h>

#include <utility>

#include "heads/plain_heads.h"
#include "headwise/heads/norm_statistics.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

MultiHeadAttention layer_with(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{5}).value();
}

TEST(ValueNormsTest, AreThoseOfWhatTheOutputProjectionMakesOfAValue) {
  const auto layer = layer_with({.embed_dim = 24, .num_heads = 3});
  const auto value = uniform<4>({2, 70, 3, 8}, 1);
  const auto norms = value_norms(layer, value).value();
  ASSERT_EQ(norms.extents(), (Extents<3>{2, 3, 70}));
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t j = 0; j < 70; ++j) {
        EXPECT_NEAR(norms(b, h, j),
                    plain_norm(plain_head_value(layer, value, b, j, h)), 1e-6);
      }
    }
  }
}

// Their weights are packed only.
TEST(ValueNormsTest, AreTheSameInALayerForInference) {
  const auto layer = layer_with({.embed_dim = 20, .num_heads = 2});
  auto w_q = Linear::create({.in_features = 20, .out_features = 20},
                            RandomStream(Seed{1}, 1))
                 .value();
  const auto copy = [](const Linear& linear) {
    auto weight = Tensor<float, 2>::create(linear.weight().extents()).value();
    std::copy_n(linear.weight().data(), weight.size(), weight.data());
    return Linear::from_params(std::move(weight)).value();
  };
  const auto packed = MultiHeadAttention::from_params(
                          {std::move(w_q), copy(layer.params()->w_k),
                           copy(*layer.params()->w_v),
                           copy(*layer.params()->w_o).for_inference()},
                          2)
                          .value();
  const auto value = uniform<4>({1, 5, 2, 10}, 1);
  EXPECT_TRUE(same_bits(value_norms(packed, value).value(),
                        value_norms(layer, value).value()));
}

TEST(ValueNormsTest, OfALayerInBf16AreThoseOfItsFloat32Parameters) {
  auto layer = layer_with({.embed_dim = 20, .num_heads = 2});
  const auto value = uniform<4>({1, 5, 2, 10}, 1);
  const auto want = value_norms(layer, value).value();
  ASSERT_TRUE(layer.set_arithmetic(Arithmetic::bf16));
  EXPECT_TRUE(same_bits(value_norms(layer, value).value(), want));
  const auto rounded = [] {
    return Linear::create({20, 20}, RandomStream(Seed{1}, 1))
        .value()
        .for_inference()
        .in_bf16()
        .value();
  };
  const auto for_inference =
      MultiHeadAttention::from_params(
          {rounded(), rounded(), rounded(), rounded()}, 2)
          .value();
  EXPECT_THAT(value_norms(for_inference, value),
              IsError(ErrorCode::unsupported, "layer"));
}

TEST(ValueNormsTest, ReadTheGroupOfAHead) {
  const auto layer =
      layer_with({.embed_dim = 16, .num_heads = 4, .kv_group_sizes = {1, 3}});
  const auto value = uniform<4>({1, 3, 2, 4}, 1);
  const auto norms = value_norms(layer, value).value();
  auto repeated = Tensor<float, 4>::create({1, 3, 4, 4}).value();
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t d = 0; d < 4; ++d) {
        repeated(0, j, h, d) = value(0, j, h == 0 ? 0 : 1, d);
      }
    }
  }
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_NEAR(norms(0, h, 2),
                plain_norm(plain_head_value(layer, repeated, 0, 2, h)), 1e-6);
  }
}

TEST(ValueNormsTest, AreThoseOfValuesWithoutAnOutputProjection) {
  const auto layer =
      layer_with({.embed_dim = 4, .num_heads = 2, .out_proj = false});
  const auto value = tensor_of<float, 4>({1, 1, 2, 2}, {3, 4, 0, 2});
  const auto norms = value_norms(layer, value).value();
  EXPECT_FLOAT_EQ(norms(0, 0, 0), 5);
  EXPECT_FLOAT_EQ(norms(0, 1, 0), 2);
}

TEST(ValueNormsTest, DependNeitherOnTheBatchNorOnThreads) {
  const auto layer = layer_with({.embed_dim = 24, .num_heads = 3});
  const auto value = uniform<4>({2, 200, 3, 8}, 1);
  const auto all = value_norms(layer, value).value();
  const auto one = Executor::with_threads(1).value();
  EXPECT_TRUE(same_bits(value_norms(layer, value, one).value(), all));
  const TensorView<const float, 4> second(&value(1, 0, 0, 0), {1, 200, 3, 8});
  const auto alone = value_norms(layer, second).value();
  EXPECT_TRUE(
      same_bits(alone.elements(), std::span(all.elements()).subspan(3 * 200)));
}

TEST(ValueNormsTest, RefuseOtherHeads) {
  const auto layer = layer_with({.embed_dim = 24, .num_heads = 3});
  const auto two = uniform<4>({1, 5, 2, 8}, 1);
  const auto three = uniform<4>({1, 5, 3, 8}, 1);
  EXPECT_THAT(value_norms(layer, two),
              HasError({.code = ErrorCode::shape_mismatch,
                        .argument = "value",
                        .given = {"(1, 5, 2, 8)"},
                        .expected = {"(1, 5, 3, 8)"}}));
  const auto open =
      layer_with({.embed_dim = 24, .num_heads = 3, .query_dim = kOpenSize});
  EXPECT_THAT(value_norms(open, three),
              IsError(ErrorCode::invalid_argument, "layer"));
}

}  // namespace
}  // namespace headwise::testing_support
