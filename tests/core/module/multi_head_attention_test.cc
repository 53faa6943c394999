#include "headwise/module/multi_head_attention.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/steps/heads.h"
#include "module/layer.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// ---- Sizes. ----

TEST(MultiHeadAttentionTest, SizesThatAreNotGivenComeFromEmbedDimAndHeads) {
  const auto layer = layer_of({.embed_dim = 12, .num_heads = 3});
  EXPECT_EQ(layer.config().query_dim, 12u);
  EXPECT_EQ(layer.config().kdim, 12u);
  EXPECT_EQ(layer.config().vdim, 12u);
  EXPECT_EQ(layer.config().head_dim, 4u);
  EXPECT_EQ(layer.config().v_head_dim, 4u);
  ASSERT_TRUE(layer.params());
  for (const Linear* linear : {&layer.params()->w_q, &layer.params()->w_k,
                               &*layer.params()->w_v, &*layer.params()->w_o}) {
    EXPECT_EQ(linear->weight().extents(), (Extents<2>{12, 12}));
    EXPECT_TRUE(linear->has_bias());
  }
}

TEST(MultiHeadAttentionTest, SizesThatAreGivenShowInTheParameters) {
  const auto layer = layer_of({.embed_dim = 10,
                               .num_heads = 3,
                               .bias = false,
                               .query_dim = 4,
                               .kdim = 5,
                               .vdim = 6,
                               .head_dim = 7,
                               .v_head_dim = 2});
  EXPECT_EQ(layer.params()->w_q.weight().extents(), (Extents<2>{21, 4}));
  EXPECT_EQ(layer.params()->w_k.weight().extents(), (Extents<2>{21, 5}));
  EXPECT_EQ(layer.params()->w_v->weight().extents(), (Extents<2>{6, 6}));
  EXPECT_EQ(layer.params()->w_o->weight().extents(), (Extents<2>{10, 6}));
  EXPECT_FALSE(layer.params()->w_q.has_bias());
  EXPECT_FALSE(layer.params()->w_o->has_bias());
}

TEST(MultiHeadAttentionTest, TheHeadSizeOfValuesIsThatOfQueriesWhenNotGiven) {
  const auto layer = layer_of({.embed_dim = 10, .num_heads = 3, .head_dim = 7});
  EXPECT_EQ(layer.config().v_head_dim, 7u);
  EXPECT_EQ(layer.params()->w_o->weight().extents(), (Extents<2>{10, 21}));
}

TEST(MultiHeadAttentionTest, ASeedGivesTheSameParametersEveryTime) {
  const MultiHeadAttentionConfig config = {.embed_dim = 8, .num_heads = 2};
  EXPECT_TRUE(same_params(layer_of(config), layer_of(config)));
  const auto other = MultiHeadAttention::create(config, Seed{8}).value();
  EXPECT_FALSE(same_params(layer_of(config), other));
  // The four projections are drawn apart.
  const auto layer = layer_of(config);
  EXPECT_FALSE(same_params(layer.params()->w_q, layer.params()->w_k));
  EXPECT_FALSE(same_params(layer.params()->w_k, *layer.params()->w_v));
  EXPECT_FALSE(same_params(*layer.params()->w_v, *layer.params()->w_o));
}

// ---- The way from the inputs to the output. ----

TEST(MultiHeadAttentionTest, IsProjectionHeadsAttentionMergeAndProjection) {
  const auto layer =
      layer_of({.embed_dim = 12, .num_heads = 3, .v_head_dim = 5});
  const auto query = uniform<3>({2, 4, 12}, 1);
  const auto key = uniform<3>({2, 6, 12}, 2);
  const auto value = uniform<3>({2, 6, 12}, 3);
  const auto& [w_q, w_k, w_v, w_o, w_score, q_norm, k_norm, bias_k, bias_v] =
      *layer.params();
  const auto q = w_q.forward(query).value();
  const auto k = w_k.forward(key).value();
  const auto v = w_v->forward(value).value();
  auto context = Tensor<float, 4>::create({2, 4, 3, 5}).value();
  auto attn_weights = Tensor<float, 4>::create({2, 3, 4, 6}).value();
  auto lse = Tensor<float, 3>::create({2, 3, 4}).value();
  ASSERT_TRUE(attention(
      split_heads(view_of(q), 3).value(), split_heads(view_of(k), 3).value(),
      split_heads(view_of(v), 3).value(), {context, attn_weights, lse},
      {.mask = causal(), .attn_weights = AttnWeights::per_head}));
  const auto merged = headwise::merge_heads(std::move(context));
  const auto want = w_o->forward(merged).value();

  const auto got =
      layer
          .forward(query, key, value,
                   {.mask = causal(), .attn_weights = AttnWeights::per_head})
          .value();
  EXPECT_TRUE(same_bits(got.output, want));
  EXPECT_TRUE(same_bits(got.attn_weights, attn_weights));
  EXPECT_TRUE(same_bits(got.lse, lse));
}

TEST(MultiHeadAttentionTest, CrossAttentionMayHaveThreeInputSizes) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .query_dim = 5, .kdim = 6, .vdim = 7});
  const auto query = uniform<3>({2, 3, 5}, 4);
  const auto key = uniform<3>({2, 9, 6}, 5);
  const auto value = uniform<3>({2, 9, 7}, 6);
  const auto result =
      layer.forward(query, key, value, {.attn_weights = AttnWeights::per_head})
          .value();
  EXPECT_EQ(result.output.extents(), (Extents<3>{2, 3, 8}));
  EXPECT_EQ(result.attn_weights.extents(), (Extents<4>{2, 2, 3, 9}));
  EXPECT_EQ(result.lse.extents(), (Extents<3>{2, 2, 3}));
}

TEST(MultiHeadAttentionTest, WithoutOutputProjectionItGivesTheMergedHeads) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .v_head_dim = 3, .out_proj = false});
  EXPECT_FALSE(layer.params()->w_o);
  const auto x = uniform<3>({2, 4, 8}, 7);
  RecordedTrace trace;
  const auto result = forward_of(layer, x, {}, {}, &trace);
  EXPECT_EQ(result.output.extents(), (Extents<3>{2, 4, 6}));
  EXPECT_TRUE(
      same_bits(trace.find("merged")->elements, result.output.elements()));
  EXPECT_THAT(trace.find("output")->axes, ElementsAre("B", "Lq", "H*Dv"));
}

TEST(MultiHeadAttentionTest, UnbatchedGivesTheBitsOfABatchOfOne) {
  auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto query = uniform<2>({3, 8}, 8);
  const auto key = uniform<2>({5, 8}, 9);
  for (const AttnWeights form :
       {AttnWeights::none, AttnWeights::per_head, AttnWeights::mean}) {
    const AttentionOptions options = {.mask = causal(), .attn_weights = form};
    const auto alone = layer.forward(query, key, key, options).value();
    const auto batch = layer
                           .forward(as_batch_of_one(view_of(query)),
                                    as_batch_of_one(view_of(key)),
                                    as_batch_of_one(view_of(key)), options)
                           .value();
    EXPECT_EQ(alone.output.extents(), (Extents<2>{3, 8}));
    EXPECT_EQ(alone.lse.extents(), (Extents<2>{2, 3}));
    EXPECT_TRUE(same_bits(alone.output.elements(), batch.output.elements()));
    EXPECT_TRUE(same_bits(alone.attn_weights.elements(),
                          batch.attn_weights.elements()));
    EXPECT_TRUE(same_bits(alone.lse.elements(), batch.lse.elements()));
  }
}

TEST(MultiHeadAttentionTest, TheWeightsHaveTheFormThatIsAskedFor) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({3, 5, 8}, 10);
  EXPECT_EQ(forward_of(layer, x).attn_weights.size(), 0u);
  EXPECT_EQ(forward_of(layer, x, {.attn_weights = AttnWeights::per_head})
                .attn_weights.extents(),
            (Extents<4>{3, 2, 5, 5}));
  EXPECT_EQ(forward_of(layer, x, {.attn_weights = AttnWeights::after_dropout})
                .attn_weights.extents(),
            (Extents<4>{3, 2, 5, 5}));
  EXPECT_EQ(forward_of(layer, x, {.attn_weights = AttnWeights::mean})
                .attn_weights.extents(),
            (Extents<4>{3, 1, 5, 5}));
}

TEST(MultiHeadAttentionTest, SizesOfZeroAreLegal) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  for (const Extents<3> none : {Extents<3>{0, 4, 8}, Extents<3>{2, 0, 8}}) {
    const auto x = Tensor<float, 3>::create(none).value();
    EXPECT_EQ(forward_of(layer, x).output.extents(), none);
  }
}

TEST(MultiHeadAttentionTest, ARowWithoutAKeyGivesTheBiasOfTheProjection) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({1, 3, 8}, 11);
  const auto result =
      forward_of(layer, x, {.mask = causal(), .query_start = -1});
  const auto bias = layer.params()->w_o->bias();
  EXPECT_TRUE(
      same_bits(std::span(&result.output(0, 0, 0), 8), {bias.data(), 8}));
}

// ---- Dropout. ----

TEST(MultiHeadAttentionTest, TheLayersDropoutWorksInTrainingOnly) {
  const MultiHeadAttentionConfig config = {.embed_dim = 8, .num_heads = 2};
  MultiHeadAttentionConfig dropping = config;
  dropping.dropout = 0.5;
  const auto x = uniform<3>({2, 9, 8}, 12);
  const auto want = forward_of(layer_of(config), x).output;
  const auto layer = layer_of(dropping);
  EXPECT_TRUE(same_bits(forward_of(layer, x).output, want));

  const auto dropped = forward_of(layer, x,
                                  {.dropout = {.training = true},
                                   .attn_weights = AttnWeights::after_dropout});
  EXPECT_FALSE(same_bits(dropped.output, want));
  EXPECT_THAT(dropped.attn_weights.elements(), testing::Contains(0.0f));
  // The rate of the call comes before that of the layer.
  EXPECT_TRUE(same_bits(
      forward_of(layer, x, {.dropout = {.p = 0.0, .training = true}}).output,
      want));
  const auto by_call = forward_of(layer_of(config), x,
                                  {.dropout = {.p = 0.5, .training = true}});
  EXPECT_TRUE(same_bits(by_call.output, dropped.output));
}

// ---- The trace. ----

TEST(MultiHeadAttentionTraceTest, TellsEveryStepInTheOrderOfTheWay) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .dropout = 0.25, .v_head_dim = 3});
  const auto query = uniform<3>({2, 3, 8}, 27);
  const auto key = uniform<3>({2, 5, 8}, 28);
  RecordedTrace trace;
  ASSERT_TRUE(layer.forward(query, key, key,
                            {.mask = causal(), .dropout = {.training = true}},
                            {}, &trace));
  EXPECT_THAT(trace.names(),
              ElementsAre("q", "k", "v", "q_split", "k_split", "v_split",
                          "q_heads", "k_heads", "v_heads", "scores",
                          "causal_mask", "masked_scores", "attn_weights",
                          "dropped_weights", "context", "merged", "output"));
  const auto expect = [&](std::string_view name,
                          const std::vector<std::string>& axes,
                          const std::vector<std::size_t>& extents) {
    const RecordedStep* step = trace.find(name);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->axes, axes) << name;
    EXPECT_EQ(step->extents, extents) << name;
  };
  expect("q", {"B", "Lq", "H*D"}, {2, 3, 8});
  expect("k", {"B", "Lkv", "H*D"}, {2, 5, 8});
  expect("v", {"B", "Lkv", "H*Dv"}, {2, 5, 6});
  expect("q_split", {"B", "Lq", "H", "D"}, {2, 3, 2, 4});
  expect("v_split", {"B", "Lkv", "H", "Dv"}, {2, 5, 2, 3});
  expect("q_heads", {"B", "H", "Lq", "D"}, {2, 2, 3, 4});
  expect("k_heads", {"B", "H", "Lkv", "D"}, {2, 2, 5, 4});
  expect("v_heads", {"B", "H", "Lkv", "Dv"}, {2, 2, 5, 3});
  expect("context", {"B", "H", "Lq", "Dv"}, {2, 2, 3, 3});
  expect("merged", {"B", "Lq", "H*Dv"}, {2, 3, 6});
  expect("output", {"B", "Lq", "E"}, {2, 3, 8});
}

TEST(MultiHeadAttentionTraceTest,
     SoftcapBiasesAlibiAndSinksAreOptionsOfTheLayer) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 5, 8}, 31, -4, 4);
  const auto bias = uniform<3>({2, 5, 5}, 32, -3, 3);
  const auto table = uniform<2>({6, 2}, 33, -3, 3);
  const auto slopes = alibi_slopes(2).value();
  const auto sinks = filled<float, 1>({2}, 0.5f);
  const AttentionOptions options = {
      .softcap = 0.25,
      .bias = dense(view_of(bias), {Axis::H, Axis::Lq, Axis::Lkv}),
      .t5_bias = {.table = table, .max_distance = 4},
      .alibi = slopes,
      .sinks = sinks,
      .attn_weights = AttnWeights::per_head};
  RecordedTrace trace;
  const auto traced = forward_of(layer, x, options, {}, &trace);
  for (const char* name : {"capped_scores", "biased_scores", "t5_scores",
                           "alibi_scores", "sinks"}) {
    EXPECT_NE(trace.find(name), nullptr) << name;
  }
  EXPECT_TRUE(
      (all_near<float, float>(traced.attn_weights.elements(),
                              trace.find("attn_weights")->elements, 1e-6)));
}

TEST(MultiHeadAttentionTraceTest, ScoresAreThoseOfTheSteps) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 5, 8}, 34, -4, 4);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {5, 3});
  AttentionOptions options = {.mask = causal() & key_lengths(lengths),
                              .softcap = 0.25};
  for (const auto& [stage, name] : {std::pair(ScoresStage::raw, "scores"),
                                    {ScoresStage::softcap, "capped_scores"},
                                    {ScoresStage::bias, "masked_scores"},
                                    {ScoresStage::softmax, "attn_weights"}}) {
    options.scores = stage;
    RecordedTrace trace;
    const auto traced = forward_of(layer, x, options, {}, &trace);
    EXPECT_TRUE((all_near<float, float>(traced.scores.elements(),
                                        trace.find(name)->elements, 1e-6)));
    // Without a trace the keys behind the last visible one are not projected
    // unless their scores are asked for.
    EXPECT_TRUE(same_bits(forward_of(layer, x, options).scores, traced.scores));
  }
}

TEST(MultiHeadAttentionTraceTest, ChangesNoBitOfTheResult) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 140, 8}, 29);
  for (const AttnWeights form :
       {AttnWeights::none, AttnWeights::per_head, AttnWeights::mean,
        AttnWeights::after_dropout}) {
    for (const double p : {0.0, 0.5}) {
      const AttentionOptions options = {.mask = causal(),
                                        .query_start = -1,
                                        .dropout = {.p = p, .training = true},
                                        .attn_weights = form};
      RecordedTrace trace;
      const auto traced = forward_of(layer, x, options, {}, &trace);
      const auto plain = forward_of(layer, x, options);
      EXPECT_TRUE(same_bits(traced.output, plain.output));
      EXPECT_TRUE(same_bits(traced.attn_weights, plain.attn_weights));
      EXPECT_TRUE(same_bits(traced.lse, plain.lse));
      EXPECT_TRUE(
          same_bits(trace.find("output")->elements, plain.output.elements()));
    }
  }
}

// ---- Into the caller's memory. ----

TEST(ForwardIntoTest, TheOutputHasTheSameBitsInTheCallersMemory) {
  const Tensor<float, 3> x = uniform<3>({2, 9, 12}, 3);
  for (const bool out_proj : {true, false}) {
    const auto layer =
        layer_of({.embed_dim = 12, .num_heads = 3, .out_proj = out_proj});
    Tensor<float, 3> output = uniform<3>({2, 9, 12}, 4);
    for (int again = 0; again < 2; ++again) {
      ASSERT_TRUE(layer.forward_into(x, x, x, output, {.mask = causal()}));
      EXPECT_TRUE(
          same_bits(output, forward_of(layer, x, {.mask = causal()}).output));
    }
  }
}

TEST(ForwardIntoTest, TheRowsOfTheOutputMayLieApart) {
  const Tensor<float, 3> x = uniform<3>({2, 9, 12}, 3);
  for (const bool out_proj : {true, false}) {
    const auto layer =
        layer_of({.embed_dim = 12, .num_heads = 3, .out_proj = out_proj});
    const auto expected = forward_of(layer, x).output;
    Tensor<float, 3> wide = Tensor<float, 3>::create({2, 9, 15}).value();
    const TensorView<float, 3> output(wide.data(), {2, 9, 12}, {135, 15, 1});
    ASSERT_TRUE(layer.forward_into(x, x, x, output));
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t l = 0; l < 9; ++l) {
        EXPECT_TRUE(
            same_bits({&output(b, l, 0), 12}, {&expected(b, l, 0), 12}));
        EXPECT_THAT((std::span{&wide(b, l, 12), 3}), testing::Each(0.0f));
      }
    }
  }
}

TEST(ForwardIntoTest, WhatDoesNotFitIsSaidAndNothingIsWritten) {
  const Tensor<float, 3> x = uniform<3>({2, 9, 12}, 3);
  const auto layer = layer_of({.embed_dim = 12, .num_heads = 3});
  Tensor<float, 3> output = Tensor<float, 3>::create({2, 9, 12}).value();
  const auto message_of = [&](TensorView<float, 3> to,
                              const AttentionOptions& options = {}) {
    return layer.forward_into(x, x, x, to, options).error().message();
  };
  EXPECT_EQ(message_of(TensorView<float, 3>(output.data(), {2, 9, 11})),
            "multi_head_attention: output has shape (2, 9, 11), expected (B, "
            "Lq, embed_dim) = (2, 9, 12)");
  EXPECT_EQ(message_of(TensorView<float, 3>()),
            "multi_head_attention: output has shape (0, 0, 0), expected (B, "
            "Lq, embed_dim) = (2, 9, 12)");
  EXPECT_EQ(
      message_of(TensorView<float, 3>(output.data(), {2, 9, 12}, {108, 1, 9})),
      "multi_head_attention: output is strided, expected contiguous "
      "features");
  EXPECT_EQ(message_of(output.view(), {.attn_weights = AttnWeights::per_head}),
            "multi_head_attention: attn_weights is asked for, expected none: "
            "only the output is written");
  EXPECT_THAT(output.elements(), testing::Each(0.0f));
}

TEST(ForwardIntoTest, TheOutputHasMemoryOfItsOwn) {
  Tensor<float, 3> memory = uniform<3>({1, 10, 12}, 3);
  const Tensor<float, 3> before = memory.clone().value();
  const Tensor<float, 3> other = uniform<3>({1, 9, 12}, 4);
  const auto layer = layer_of({.embed_dim = 12, .num_heads = 3});
  const TensorView<float, 3> output(memory.data(), {1, 9, 12});
  const TensorView<const float, 3> next(memory.data() + 12, {1, 9, 12});
  const auto error = [](std::string_view input) {
    return "multi_head_attention: output is in the memory of " +
           std::string(input) + ", expected memory of its own";
  };
  EXPECT_EQ(layer.forward_into(next, other, other, output).error().message(),
            error("query"));
  EXPECT_EQ(layer.forward_into(other, next, other, output).error().message(),
            error("key"));
  EXPECT_EQ(layer.forward_into(other, other, next, output).error().message(),
            error("value"));
  EXPECT_TRUE(same_bits(memory, before));
}

}  // namespace
}  // namespace headwise::testing_support
