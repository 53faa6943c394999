// Layers whose key heads are read by different numbers of query heads.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "module/layer.h"
#include "support/errors.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const std::vector<std::size_t> kSizes = {3, 4};

MultiHeadAttentionConfig config_of(Scoring scoring = Scoring::dot) {
  return {.embed_dim = 21,
          .num_heads = 7,
          .num_kv_heads = 2,
          .kv_group_sizes = kSizes,
          .v_head_dim = 2,
          .scoring = scoring};
}

// The linear map with the rows of head n times[n] times.
Linear repeated(const Linear& linear, const std::vector<std::size_t>& times) {
  const auto [rows, in] = linear.weight().extents();
  const std::size_t size = rows / times.size();
  std::vector<float> weight;
  std::vector<float> bias;
  for (std::size_t n = 0; n < times.size(); ++n) {
    for (std::size_t time = 0; time < times[n]; ++time) {
      for (std::size_t o = n * size; o < (n + 1) * size; ++o) {
        weight.insert(weight.end(), &linear.weight()(o, 0),
                      &linear.weight()(o, 0) + in);
        bias.push_back(linear.bias()(o));
      }
    }
  }
  const std::size_t out = bias.size();
  return Linear::from_params(tensor_of<float, 2>({out, in}, weight),
                             tensor_of<float, 1>({out}, bias))
      .value();
}

MultiHeadAttentionParams params_of(const MultiHeadAttention& layer,
                                   const std::vector<std::size_t>& times) {
  const MultiHeadAttentionParams& params = *layer.params();
  MultiHeadAttentionParams copy{.w_q = repeated(params.w_q, {1}),
                                .w_k = repeated(params.w_k, times),
                                .w_v = repeated(*params.w_v, times),
                                .w_o = repeated(*params.w_o, {1})};
  if (params.w_score) {
    copy.w_score = clone(*params.w_score);
  }
  return copy;
}

struct Trained {
  MultiHeadAttentionResult<3> result;
  MultiHeadAttentionGradients gradients;
};

Trained trained(const MultiHeadAttention& layer, const Tensor<float, 3>& x,
                const AttentionOptions& options) {
  const auto d_output = uniform<3>(x.extents(), 6100);
  auto saved = layer.forward_for_backward(x, x, x, options).value();
  auto gradients = layer.backward(saved, d_output).value();
  return {std::move(saved).take_result(), std::move(gradients)};
}

TEST(UnevenLayerTest, HasTheBitsOfParametersRepeatedForEachHead) {
  for (const Scoring scoring : {Scoring::dot, Scoring::additive}) {
    const auto layer = layer_of(config_of(scoring));
    EXPECT_EQ(layer.params()->w_k.out_features(), 6u);
    EXPECT_EQ(layer.params()->w_v->out_features(), 4u);
    const auto all =
        MultiHeadAttention::from_params(params_of(layer, kSizes), 7).value();
    const auto x = uniform<3>({2, 20, 21}, 6000);
    const AttentionOptions options = {.mask = causal(),
                                      .attn_weights = AttnWeights::per_head};
    const Trained got = trained(layer, x, options);
    const Trained want = trained(all, x, options);
    EXPECT_TRUE(same_bits(got.result.output, want.result.output));
    EXPECT_TRUE(same_bits(got.result.attn_weights, want.result.attn_weights));
    EXPECT_TRUE(same_bits(got.result.lse, want.result.lse));
    EXPECT_TRUE(
        same_bits(forward_of(layer, x, options).output, want.result.output));
    EXPECT_TRUE(same_bits(got.gradients.query, want.gradients.query));
    EXPECT_TRUE(same_bits(got.gradients.w_q.weight, want.gradients.w_q.weight));
    EXPECT_TRUE(
        same_bits(got.gradients.w_o->weight, want.gradients.w_o->weight));
    EXPECT_TRUE(same_bits(got.gradients.w_score, want.gradients.w_score));
    EXPECT_TRUE(all_near(got.gradients.key, want.gradients.key, 2e-6));
    EXPECT_TRUE(all_near(got.gradients.value, want.gradients.value, 2e-6));
  }
}

TEST(UnevenLayerTest, IsMadeOfItsParametersAgain) {
  const auto layer = layer_of(config_of());
  const auto again =
      MultiHeadAttention::from_params(
          params_of(layer, {1, 1}),
          {.num_heads = 7, .kv_group_sizes = kSizes, .head_dim = 3})
          .value();
  EXPECT_EQ(again.config().num_kv_heads, 2u);
  EXPECT_EQ(again.config().kv_group_sizes, kSizes);
  const auto x = uniform<3>({2, 9, 21}, 6010);
  EXPECT_TRUE(
      same_bits(forward_of(again, x).output, forward_of(layer, x).output));
}

TEST(UnevenLayerTest, IsShownToATraceAndWritesWhereItIsTold) {
  const auto layer = layer_of(config_of());
  const auto x = uniform<3>({2, 9, 21}, 6020);
  const auto want = forward_of(layer, x).output;
  RecordedTrace trace;
  EXPECT_TRUE(same_bits(forward_of(layer, x, {}, {}, &trace).output, want));
  EXPECT_EQ(trace.find("k_heads")->extents,
            (std::vector<std::size_t>{2, 2, 9, 3}));
  EXPECT_EQ(trace.find("scores")->extents,
            (std::vector<std::size_t>{2, 7, 9, 9}));
  auto output = filled<float, 3>({2, 9, 21}, 42);
  ASSERT_TRUE(layer.forward_into(x, x, x, output));
  EXPECT_TRUE(same_bits(output, want));
}

TEST(UnevenLayerTest, TakesWhatWasSavedBeforeItMoved) {
  auto layer = std::make_unique<MultiHeadAttention>(layer_of(config_of()));
  const auto x = uniform<3>({2, 9, 21}, 6030);
  const auto d_output = uniform<3>(x.extents(), 6100);
  const auto want = trained(*layer, x, {}).gradients;
  auto saved = layer->forward_for_backward(x, x, x).value();
  const MultiHeadAttention moved = std::move(*layer);
  layer.reset();
  const auto got = moved.backward(saved, d_output).value();
  EXPECT_TRUE(same_bits(got.key, want.key));
  EXPECT_TRUE(same_bits(got.w_k.weight, want.w_k.weight));
}

TEST(UnevenLayerTest, OpenSizesAreFixed) {
  MultiHeadAttentionConfig config = config_of();
  config.query_dim = kOpenSize;
  auto open = layer_of(config);
  const auto x = uniform<3>({2, 9, 21}, 6040);
  ASSERT_TRUE(open.fix_sizes({.query_dim = 21}));
  const auto got = open.forward(x.view(), x.view(), x.view()).value();
  EXPECT_TRUE(
      same_bits(got.output, forward_of(layer_of(config_of()), x).output));
}

TEST(UnevenLayerTest, SizesThatDoNotAddUpAreErrors) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const std::vector<std::pair<std::vector<std::size_t>, std::string>> errors = {
      {{7}, "kv_group_sizes has 1 sizes, expected num_kv_heads = 2"},
      {{0, 7}, "kv_group_sizes[0] is 0, expected at least 1"},
      {{3, 5},
       "kv_group_sizes[1] is 5, expected at most 4, the rest of num_heads "
       "= 7"},
      {{8, kHuge},
       "kv_group_sizes[0] is 8, expected at most 7, the rest of num_heads "
       "= 7"},
      {{3, 3}, "kv_group_sizes has the sum 6, expected num_heads = 7"}};
  const auto layer = layer_of(config_of());
  for (const auto& [sizes, message] : errors) {
    MultiHeadAttentionConfig config = config_of();
    config.kv_group_sizes = sizes;
    const auto created = MultiHeadAttention::create(config, Seed{7});
    const auto of_params = MultiHeadAttention::from_params(
        params_of(layer, {1, 1}),
        {.num_heads = 7, .num_kv_heads = 2, .kv_group_sizes = sizes});
    for (const auto* made : {&created, &of_params}) {
      ASSERT_FALSE(*made) << message;
      EXPECT_EQ(made->error().message(), "multi_head_attention: " + message);
      EXPECT_EQ(made->error().code(), ErrorCode::invalid_argument);
    }
  }
  const auto wrong_size = MultiHeadAttention::from_params(
      params_of(layer, {1, 1}),
      {.num_heads = 7, .kv_group_sizes = kSizes, .head_dim = 4});
  ASSERT_FALSE(wrong_size);
  EXPECT_THAT(wrong_size, IsAbout("head_dim", "4", "3"));
}

}  // namespace
}  // namespace headwise::testing_support
