// Added keys of the layer: the operation's, with parameters of their own.
// backward_test.cc has their gradients.

#include <string>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/steps/heads.h"
#include "module/layer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Two heads of keys for four of queries.
MultiHeadAttentionConfig added(bool bias_kv, bool zero_attn) {
  return {.embed_dim = 16,
          .num_heads = 4,
          .num_kv_heads = 2,
          .v_head_dim = 3,
          .add_bias_kv = bias_kv,
          .add_zero_attn = zero_attn};
}

TEST(AddedKeysLayerTest, GivesTheOperationItsParameters) {
  const auto x = uniform<3>({2, 5, 16}, 1);
  for (const auto& [bias_kv, zero_attn] :
       {std::pair(true, false), std::pair(false, true),
        std::pair(true, true)}) {
    const auto layer = layer_of(added(bias_kv, zero_attn));
    const MultiHeadAttentionParams& params = *layer.params();
    const auto q = params.w_q.forward(x).value();
    const auto k = params.w_k.forward(x).value();
    const auto v = params.w_v->forward(x).value();
    OperationOptions operation;
    if (bias_kv) {
      operation.added_keys.bias_k = {params.bias_k->data(), {2, 4}};
      operation.added_keys.bias_v = {params.bias_v->data(), {2, 3}};
    }
    operation.added_keys.zero_attn = zero_attn;
    const std::size_t columns = 5 + (bias_kv ? 1U : 0U) + (zero_attn ? 1U : 0U);
    auto context = filled<float, 4>({2, 5, 4, 3}, 42);
    auto weights = filled<float, 4>({2, 4, 5, columns}, 42);
    const AttentionOptions options = {.mask = causal(),
                                      .query_start = -1,
                                      .attn_weights = AttnWeights::per_head};
    ASSERT_TRUE(attention(
        split_heads(view_of(q), 4).value(), split_heads(view_of(k), 2).value(),
        split_heads(view_of(v), 2).value(),
        AttentionOutputs{.output = context, .attn_weights = weights}, options,
        operation));
    const auto got = forward_of(layer, x, options);
    EXPECT_TRUE(same_bits(got.attn_weights, weights));
    const auto merged = headwise::merge_heads(std::move(context));
    const auto want = params.w_o->forward(merged).value();
    EXPECT_TRUE(same_bits(got.output, want));
  }
}

TEST(AddedKeysLayerTest, HasColumnsInTheMeanOfItsHeadsAndInScores) {
  const auto layer = layer_of(added(true, true));
  const auto x = uniform<3>({2, 5, 16}, 2);
  const auto got = forward_of(
      layer, x,
      {.attn_weights = AttnWeights::mean, .scores = ScoresStage::raw});
  EXPECT_EQ(got.attn_weights.extents(), (Extents<4>{2, 1, 5, 7}));
  EXPECT_EQ(got.scores.extents(), (Extents<4>{2, 4, 5, 7}));
  EXPECT_EQ(got.scores(1, 2, 3, 6), 0);  // of the key of zeros
}

TEST(AddedKeysLayerTest, DrawsThemAsPyTorchDoes) {
  const auto layer = layer_of(
      {.embed_dim = 1024, .num_heads = 2, .vdim = 8, .add_bias_kv = true});
  for (const auto* drawn :
       {&*layer.params()->bias_k, &*layer.params()->bias_v}) {
    double square = 0;
    for (const float x : drawn->elements()) {
      square += double{x} * double{x};
    }
    // A standard deviation of 1 / sqrt(1024): the squares sum to about 1.
    EXPECT_NEAR(square, 1, 0.15);
  }
  EXPECT_FALSE(same_bits(*layer.params()->bias_k, *layer.params()->bias_v));
  // The other parameters are those of the layer without.
  const auto without = layer_of({.embed_dim = 1024, .num_heads = 2, .vdim = 8});
  EXPECT_TRUE(same_params(layer.params()->w_q, without.params()->w_q));
}

TEST(AddedKeysLayerTest, ShowsThemToAnUpdateAndItsGradientsInThatOrder) {
  auto layer = layer_of(added(true, false));
  const auto x = uniform<3>({1, 3, 16}, 3);
  auto saved = layer.forward_for_backward(x.view(), x.view(), x.view()).value();
  const auto d_output = uniform<3>({1, 3, 16}, 4);
  const auto gradients = layer.backward(saved, d_output.view()).value();
  std::vector<std::string> shown;
  gradients.for_each([&](std::string_view name, std::span<const float> values) {
    shown.emplace_back(name);
    EXPECT_FALSE(values.empty());
  });
  std::vector<std::string> updated;
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    updated.emplace_back(name);
    EXPECT_FALSE(values.empty());
    return ok();
  }));
  EXPECT_EQ(shown, updated);
  ASSERT_GE(updated.size(), 2u);
  EXPECT_EQ(updated[updated.size() - 2], "bias_k");
  EXPECT_EQ(updated.back(), "bias_v");
}

Result<MultiHeadAttention> from(std::optional<std::size_t> keys,
                                std::optional<std::size_t> values) {
  const auto linear = [](std::size_t out) {
    return Linear::from_params(uniform<2>({out, 8}, 5)).value();
  };
  MultiHeadAttentionParams params{linear(8), linear(4), linear(6), linear(12)};
  params.w_o = Linear::from_params(uniform<2>({8, 12}, 6)).value();
  if (keys) {
    params.bias_k = filled<float, 1>({*keys}, 1);
  }
  if (values) {
    params.bias_v = filled<float, 1>({*values}, 1);
  }
  return MultiHeadAttention::from_params(std::move(params),
                                         {.num_heads = 4, .num_kv_heads = 2});
}

TEST(AddedKeysLayerTest, ParametersMustFit) {
  EXPECT_TRUE(from(4, 6));
  EXPECT_TRUE(from(4, 6)->config().add_bias_kv);
  EXPECT_FALSE(from({}, {})->config().add_bias_kv);
  EXPECT_THAT(from(4, {}), IsAbout("bias_v", "not given", "bias_k"));
  EXPECT_THAT(from({}, 6), IsAbout("bias_k", "not given", "bias_v"));
  EXPECT_THAT(from(5, 6), IsAbout("bias_k", "(5)", "(4)"));
  EXPECT_THAT(from(4, 5), IsAbout("bias_v", "(5)", "(6)"));
}

TEST(AddedKeysLayerTest, HasNoCache) {
  const auto layer = layer_of(added(false, true));
  auto cache =
      KvCache::create(
          {.num_kv_heads = 2, .head_dim = 4, .v_head_dim = 3, .max_tokens = 16})
          .value();
  const SequenceId id = cache.add().value();
  const auto x = uniform<3>({1, 3, 16}, 7);
  const auto result =
      layer.forward(x.view(), x.view(), x.view(), {},
                    {.cache = &cache, .sequences = std::span(&id, 1)});
  ASSERT_FALSE(result);
  EXPECT_THAT(result, IsAbout("added_keys", "given", "none with a cache"));
  EXPECT_EQ(cache.length(id).value(), 0u);
}

}  // namespace
}  // namespace headwise::testing_support
