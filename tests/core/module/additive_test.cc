// The layer with additive scoring, and without a projection of the values.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/heads.h"
#include "module/layer.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// d2l's: one head over a hidden layer, the values as they are.
const MultiHeadAttentionConfig kD2l = {.embed_dim = 8,
                                       .num_heads = 1,
                                       .bias = false,
                                       .query_dim = 5,
                                       .kdim = 7,
                                       .vdim = 4,
                                       .out_proj = false,
                                       .value_proj = false,
                                       .scoring = Scoring::additive};

TEST(AdditiveLayerTest, HasAScoreWeightOfItsOwnAndTheSameProjections) {
  MultiHeadAttentionConfig config = {
      .embed_dim = 12, .num_heads = 3, .num_kv_heads = 1, .head_dim = 16};
  const auto dot = layer_of(config);
  EXPECT_FALSE(dot.params()->w_score);
  config.scoring = Scoring::additive;
  const auto additive = layer_of(config);
  EXPECT_TRUE(same_params(dot.params()->w_q, additive.params()->w_q));
  EXPECT_TRUE(same_params(*dot.params()->w_o, *additive.params()->w_o));
  const Tensor<float, 2>& w_score = *additive.params()->w_score;
  EXPECT_EQ(w_score.extents(), (Extents<2>{3, 16}));
  auto want = Tensor<float, 2>::create({3, 16}).value();
  RandomStream(Seed{7}, 5).fill_uniform(want.elements(), -0.25, 0.25);
  EXPECT_TRUE(same_bits(w_score, want));
  EXPECT_TRUE(same_params(additive, layer_of(config)));
}

TEST(AdditiveLayerTest, IsProjectionAndAdditiveAttention) {
  for (const bool value_proj : {false, true}) {
    MultiHeadAttentionConfig config = kD2l;
    config.num_heads = 4;
    config.num_kv_heads = 2;
    config.head_dim = 6;
    config.value_proj = value_proj;
    const auto layer = layer_of(config);
    const auto query = uniform<3>({2, 9, 5}, 100);
    const auto key = uniform<3>({2, 11, 7}, 101);
    const auto value = uniform<3>({2, 11, 4}, 102);
    const auto& [w_q, w_k, w_v, w_o, w_score, q_norm, k_norm, bias_k, bias_v] =
        *layer.params();
    ASSERT_EQ(w_v.has_value(), value_proj);
    const auto q = w_q.forward(query).value();
    const auto k = w_k.forward(key).value();
    const auto v = w_v ? w_v->forward(value).value() : clone(value);
    const std::size_t Dv = value_proj ? 6 : 2;
    EXPECT_EQ(layer.config().v_head_dim, Dv);
    auto output = filled<float, 4>({2, 9, 4, Dv}, 42);
    ASSERT_TRUE(attention(split_heads(view_of(q), 4).value(),
                          split_heads(view_of(k), 2).value(),
                          split_heads(view_of(v), 2).value(), output,
                          {.mask = causal()}, {.score_weight = *w_score}));
    const auto got =
        layer.forward(query, key, value, {.mask = causal()}).value();
    EXPECT_TRUE(same_bits(got.output.elements(), output.elements()));
    EXPECT_EQ(got.output.extents(), (Extents<3>{2, 9, 4 * Dv}));
  }
}

TEST(AdditiveLayerTest, FromItsParametersIsTheSameLayer) {
  const auto layer = layer_of(kD2l);
  const auto linear = [](const Linear& from) {
    auto weight = filled<float, 2>(from.weight().extents(), 0);
    std::copy_n(from.weight().data(), weight.size(), weight.data());
    return Linear::from_params(std::move(weight)).value();
  };
  const auto again = MultiHeadAttention::from_params(
                         {.w_q = linear(layer.params()->w_q),
                          .w_k = linear(layer.params()->w_k),
                          .w_score = clone(*layer.params()->w_score)},
                         1, {}, 4)
                         .value();
  EXPECT_TRUE(same_params(layer, again));
  EXPECT_EQ(again.config().scoring, Scoring::additive);
  EXPECT_FALSE(again.config().value_proj);
  EXPECT_EQ(again.config().vdim, 4u);
  EXPECT_EQ(again.config().head_dim, 8u);
  const auto x = uniform<3>({2, 3, 5}, 103);
  const auto k = uniform<3>({2, 6, 7}, 104);
  const auto v = uniform<3>({2, 6, 4}, 105);
  EXPECT_TRUE(same_bits(again.forward(x, k, v).value().output,
                        std::as_const(layer).forward(x, k, v).value().output));
}

TEST(AdditiveLayerTest, UpdateShowsTheScoreWeightAfterTheProjections) {
  auto layer = layer_of({.embed_dim = 8,
                         .num_heads = 2,
                         .bias = false,
                         .scoring = Scoring::additive});
  const auto x = uniform<3>({1, 4, 8}, 106);
  const auto before = forward_of(layer, x);
  std::vector<std::string> names;
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    names.emplace_back(name);
    if (name == "w_score.weight") {
      EXPECT_EQ(values.size(), 8u);
      std::ranges::fill(values, 0.0f);
    }
    return ok();
  }));
  EXPECT_THAT(names,
              testing::ElementsAre("w_q.weight", "w_k.weight", "w_v.weight",
                                   "w_o.weight", "w_score.weight"));
  const auto after =
      forward_of(layer, x, {.attn_weights = AttnWeights::per_head});
  EXPECT_FALSE(same_bits(after.output, before.output));
  EXPECT_THAT(after.attn_weights.elements(), testing::Each(0.25f));
}

// The derivative of sum(output * d_output) by a parameter, in binary32.
TEST(AdditiveLayerTest, GradientsAreNearTheDifferences) {
  MultiHeadAttentionConfig config = kD2l;
  config.num_heads = 2;
  config.head_dim = 3;
  auto layer = layer_of(config);
  const auto query = uniform<3>({2, 5, 5}, 107);
  const auto key = uniform<3>({2, 6, 7}, 108);
  auto value = uniform<3>({2, 6, 4}, 109);
  const auto d_output = uniform<3>({2, 5, 4}, 110);
  const AttentionOptions options = {.mask = causal(), .query_start = 1};
  const auto loss = [&] {
    const auto out =
        std::as_const(layer).forward(query, key, value, options).value().output;
    double sum = 0;
    for (std::size_t n = 0; n < out.size(); ++n) {
      sum += double{out.data()[n]} * double{d_output.data()[n]};
    }
    return sum;
  };
  auto saved = layer.forward_for_backward(query, key, value, options).value();
  const auto gradients = layer.backward(saved, d_output).value();
  EXPECT_EQ(gradients.w_v.weight.size(), 0u);
  const auto expect_near = [&](std::span<const float> gradient,
                               const auto& change) {
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      constexpr float kStep = 1.0f / 64;
      change(n, kStep);
      const double above = loss();
      change(n, -2 * kStep);
      const double below = loss();
      change(n, kStep);
      EXPECT_NEAR(gradient[n], (above - below) / (2 * kStep), 2e-4) << n;
    }
  };
  for (const auto& [name, gradient] :
       {std::pair<std::string, std::span<const float>>{
            "w_score.weight", gradients.w_score.elements()},
        {"w_q.weight", gradients.w_q.weight.elements()},
        {"w_k.weight", gradients.w_k.weight.elements()}}) {
    SCOPED_TRACE(name);
    expect_near(gradient, [&, name = name](std::size_t n, float by) {
      EXPECT_TRUE(
          layer.update([&](std::string_view shown, std::span<float> values) {
            if (shown == name) {
              values[n] += by;
            }
            return ok();
          }));
    });
  }
  expect_near(gradients.value.elements(),
              [&](std::size_t n, float by) { value.data()[n] += by; });
}

std::string message_of(const MultiHeadAttentionConfig& config) {
  const auto layer = MultiHeadAttention::create(config, Seed{1});
  return layer ? "no error" : layer.error().message();
}

TEST(AdditiveLayerTest, WhatDoesNotFitIsAnError) {
  const auto layer =
      layer_of({.embed_dim = 8, .num_heads = 2, .scoring = Scoring::additive});
  const auto x = uniform<3>({1, 4, 8}, 111);
  const auto error_of = [&](const AttentionOptions& options) {
    const auto result = layer.forward(x, x, x, options);
    return result ? "no error" : result.error().message();
  };
  EXPECT_EQ(error_of({.scale = 0.5}),
            "attention: scale is 0.5, expected none with a score_weight");

  MultiHeadAttentionConfig config = kD2l;
  config.vdim = 5;
  config.num_heads = 4;
  EXPECT_EQ(message_of(config),
            "multi_head_attention: vdim is 5, expected a multiple of "
            "num_kv_heads = 4 without a value projection");
  config.vdim = 8;
  config.v_head_dim = 3;
  EXPECT_EQ(message_of(config),
            "multi_head_attention: v_head_dim is 3, expected vdim / "
            "num_kv_heads = 2 without a value projection");
  config.vdim = kOpenSize;
  EXPECT_EQ(message_of(config),
            "multi_head_attention: vdim is open, expected a multiple "
            "of num_kv_heads = 4 without a value projection");
}

TEST(AdditiveLayerTest, ParametersThatDoNotFitAreAnError) {
  const auto linear = [](std::size_t out, std::size_t in) {
    return Linear::create({.in_features = in, .out_features = out},
                          RandomStream(Seed{1}, 40))
        .value();
  };
  const auto error_of = [](MultiHeadAttentionParams params,
                           std::size_t num_heads) {
    const auto layer =
        MultiHeadAttention::from_params(std::move(params), num_heads);
    return layer ? "no error" : layer.error().message();
  };
  EXPECT_EQ(error_of({.w_q = linear(8, 3),
                      .w_k = linear(8, 3),
                      .w_v = linear(8, 3),
                      .w_score = uniform<2>({1, 8}, 113)},
                     2),
            "multi_head_attention: w_score.weight has shape (1, 8), expected "
            "(num_heads, head_dim) = (2, 4)");
  EXPECT_EQ(error_of({.w_q = linear(8, 3),
                      .w_k = linear(8, 3),
                      .w_score = uniform<2>({1, 8}, 113)},
                     1),
            "multi_head_attention: vdim is not given, expected a size, as "
            "there is neither w_v nor w_o");
  EXPECT_EQ(error_of({.w_q = linear(8, 3),
                      .w_k = linear(8, 3),
                      .w_o = linear(5, 7),
                      .w_score = uniform<2>({2, 4}, 113)},
                     2),
            "multi_head_attention: w_o.weight has shape (5, 7), expected "
            "(embed_dim, num_heads * v_head_dim) = (5, 6)");
}

}  // namespace
}  // namespace headwise::testing_support
