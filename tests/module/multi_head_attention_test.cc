#include "headwise/module/multi_head_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/merge.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing_support::filled;
using testing_support::RecordedStep;
using testing_support::RecordedTrace;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::view_of;

MultiHeadAttention layer_of(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{7}).value();
}

// Self-attention.
MultiHeadAttentionResult<3> forward_of(const MultiHeadAttention& layer,
                                       const Tensor<float, 3>& x,
                                       const AttentionOptions& options = {},
                                       TraceSink* trace = nullptr) {
  return layer.forward(x.view(), x.view(), x.view(), options, trace).value();
}

testing::AssertionResult same_params(const Linear& a, const Linear& b) {
  if (a.weight().extents() != b.weight().extents() ||
      a.has_bias() != b.has_bias()) {
    return testing::AssertionFailure() << "the sizes differ";
  }
  if (a.has_bias() && !same_bits({a.bias().data(), a.bias().size()},
                                 {b.bias().data(), b.bias().size()})) {
    return testing::AssertionFailure() << "the biases differ";
  }
  return same_bits({a.weight().data(), a.weight().size()},
                   {b.weight().data(), b.weight().size()});
}
testing::AssertionResult same_params(const MultiHeadAttention& a,
                                     const MultiHeadAttention& b) {
  if (!a.params() || !b.params() ||
      a.params()->w_o.has_value() != b.params()->w_o.has_value()) {
    return testing::AssertionFailure() << "not the same parameters";
  }
  for (const auto member :
       {&MultiHeadAttentionParams::w_q, &MultiHeadAttentionParams::w_k,
        &MultiHeadAttentionParams::w_v}) {
    if (auto r = same_params((*a.params()).*member, (*b.params()).*member);
        !r) {
      return r;
    }
  }
  if (!a.params()->w_o) {
    return testing::AssertionSuccess();
  }
  return same_params(*a.params()->w_o, *b.params()->w_o);
}

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
                               &layer.params()->w_v, &*layer.params()->w_o}) {
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
  EXPECT_EQ(layer.params()->w_v.weight().extents(), (Extents<2>{6, 6}));
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
  EXPECT_FALSE(same_params(layer.params()->w_k, layer.params()->w_v));
  EXPECT_FALSE(same_params(layer.params()->w_v, *layer.params()->w_o));
}

// ---- The way from the inputs to the output. ----

TEST(MultiHeadAttentionTest, IsProjectionHeadsAttentionMergeAndProjection) {
  const auto layer =
      layer_of({.embed_dim = 12, .num_heads = 3, .v_head_dim = 5});
  const auto query = uniform<3>({2, 4, 12}, 1);
  const auto key = uniform<3>({2, 6, 12}, 2);
  const auto value = uniform<3>({2, 6, 12}, 3);
  const auto& [w_q, w_k, w_v, w_o] = *layer.params();
  const auto q = w_q.forward(query.view()).value();
  const auto k = w_k.forward(key.view()).value();
  const auto v = w_v.forward(value.view()).value();
  auto context = Tensor<float, 4>::create({2, 4, 3, 5}).value();
  auto attn_weights = Tensor<float, 4>::create({2, 3, 4, 6}).value();
  auto lse = Tensor<float, 3>::create({2, 3, 4}).value();
  ASSERT_TRUE(attention(
      split_heads(view_of(q), 3).value(), split_heads(view_of(k), 3).value(),
      split_heads(view_of(v), 3).value(),
      {context.view(), attn_weights.view(), lse.view()},
      {.mask = causal(), .attn_weights = AttnWeights::per_head}));
  const auto merged = merge_heads(std::move(context));
  const auto want = w_o->forward(merged.view()).value();

  const auto got =
      layer
          .forward(query.view(), key.view(), value.view(),
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
  const auto result = layer
                          .forward(query.view(), key.view(), value.view(),
                                   {.attn_weights = AttnWeights::per_head})
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
  const auto result = forward_of(layer, x, {}, &trace);
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
    const auto alone =
        layer.forward(query.view(), key.view(), key.view(), options).value();
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
  EXPECT_EQ(other.error().message,
            "multi_head_attention: query has shape (2, 4, 6), expected (B, "
            "Lq, query_dim) = (2, 4, 5)");
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
  EXPECT_EQ(wrong.error().message,
            "multi_head_attention: query has shape (2, 4, 6), expected (B, "
            "Lq, query_dim) = (2, 4, 8)");
  ASSERT_TRUE(layer.forward(query.view(), key.view(), value.view()));
  EXPECT_EQ(layer.config().kdim, 6u);
}

TEST(FromFirstCallTest, AConstCallOnALayerWithOpenSizesIsAnError) {
  const auto layer = layer_of(kOpen);
  const auto x = uniform<3>({2, 3, 5}, 22);
  const auto result = layer.forward(x.view(), x.view(), x.view());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(result.error().message,
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
  EXPECT_EQ(failed.error().message,
            "multi_head_attention: value has shape (2, 9, 7), expected (B, "
            "Lkv, vdim) = (2, 4, 7)");
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

// ---- The trace. ----

TEST(MultiHeadAttentionTraceTest, TellsEveryStepInTheOrderOfTheWay) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .dropout = 0.25, .v_head_dim = 3});
  const auto query = uniform<3>({2, 3, 8}, 27);
  const auto key = uniform<3>({2, 5, 8}, 28);
  RecordedTrace trace;
  ASSERT_TRUE(layer.forward(query.view(), key.view(), key.view(),
                            {.mask = causal(), .dropout = {.training = true}},
                            &trace));
  EXPECT_THAT(
      trace.names(),
      ElementsAre("q", "k", "v", "q_heads", "k_heads", "v_heads", "scores",
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
  expect("q_heads", {"B", "H", "Lq", "D"}, {2, 2, 3, 4});
  expect("k_heads", {"B", "H", "Lkv", "D"}, {2, 2, 5, 4});
  expect("v_heads", {"B", "H", "Lkv", "Dv"}, {2, 2, 5, 3});
  expect("context", {"B", "H", "Lq", "Dv"}, {2, 2, 3, 3});
  expect("merged", {"B", "Lq", "H*Dv"}, {2, 3, 6});
  expect("output", {"B", "Lq", "E"}, {2, 3, 8});
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
      const auto traced = forward_of(layer, x, options, &trace);
      const auto plain = forward_of(layer, x, options);
      EXPECT_TRUE(same_bits(traced.output, plain.output));
      EXPECT_TRUE(same_bits(traced.attn_weights, plain.attn_weights));
      EXPECT_TRUE(same_bits(traced.lse, plain.lse));
      EXPECT_TRUE(
          same_bits(trace.find("output")->elements, plain.output.elements()));
    }
  }
}

// ---- Errors. ----

struct CreateError {
  MultiHeadAttentionConfig config;
  std::string message;
};

TEST(MultiHeadAttentionErrorsTest, AConfigThatMakesNoSenseNamesTheSize) {
  const std::vector<CreateError> errors = {
      {{.num_heads = 2}, "embed_dim is 0, expected at least 1"},
      {{.embed_dim = 8}, "num_heads is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .query_dim = 0},
       "query_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .kdim = 0},
       "kdim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .vdim = 0},
       "vdim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .head_dim = 0},
       "head_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .v_head_dim = 0},
       "v_head_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 3},
       "embed_dim is 8, expected a multiple of num_heads = 3 (or give "
       "head_dim)"},
      {{.embed_dim = 8, .num_heads = 2, .dropout = 1.5},
       "dropout is 1.5, expected a number from 0 to 1"},
      {{.embed_dim = 8, .num_heads = 2, .dropout = -0.1},
       "dropout is -0.1, expected a number from 0 to 1"}};
  for (const auto& [config, message] : errors) {
    const auto layer = MultiHeadAttention::create(config, Seed{7});
    ASSERT_FALSE(layer) << message;
    EXPECT_EQ(layer.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(layer.error().message, "multi_head_attention: " + message);
  }
}

TEST(MultiHeadAttentionErrorsTest, SizesWhoseProductOverflowsAreAnError) {
  // 2 * (2^63 + 1) is 2 in 64 bits.
  const std::size_t half = std::size_t{1} << 63;
  const std::vector<MultiHeadAttentionConfig> configs = {
      {.embed_dim = 8, .num_heads = 2, .head_dim = half + 1},
      {.embed_dim = 8, .num_heads = 2, .head_dim = 4, .v_head_dim = half + 1},
      {.embed_dim = 8, .num_heads = half + 1, .head_dim = 2}};
  for (const MultiHeadAttentionConfig& config : configs) {
    const auto layer = MultiHeadAttention::create(config, Seed{7});
    ASSERT_FALSE(layer);
    EXPECT_EQ(layer.error().code, ErrorCode::out_of_memory);
  }
  EXPECT_EQ(MultiHeadAttention::create(configs[0], Seed{7}).error().message,
            "multi_head_attention: num_heads * head_dim = 2 * "
            "9223372036854775809 needs more memory than there is");
}

TEST(MultiHeadAttentionErrorsTest, AnInputOfAnotherShapeNamesIt) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .query_dim = 5, .kdim = 6, .vdim = 7});
  const auto query = uniform<3>({2, 3, 5}, 30);
  const auto key = uniform<3>({2, 4, 6}, 31);
  const auto value = uniform<3>({2, 4, 7}, 32);
  const auto message_of = [&](TensorView<const float, 3> q,
                              TensorView<const float, 3> k,
                              TensorView<const float, 3> v) {
    const auto result = layer.forward(q, k, v);
    if (result) {
      return std::string("no error");
    }
    EXPECT_EQ(result.error().code, ErrorCode::shape_mismatch);
    return result.error().message;
  };
  EXPECT_EQ(message_of(key.view(), key.view(), value.view()),
            "multi_head_attention: query has shape (2, 4, 6), expected (B, "
            "Lq, query_dim) = (2, 4, 5)");
  EXPECT_EQ(message_of(query.view(), query.view(), value.view()),
            "multi_head_attention: key has shape (2, 3, 5), expected (B, Lkv, "
            "kdim) = (2, 3, 6)");
  EXPECT_EQ(message_of(query.view(), key.view(), key.view()),
            "multi_head_attention: value has shape (2, 4, 6), expected (B, "
            "Lkv, vdim) = (2, 4, 7)");
  const auto three = uniform<3>({3, 4, 6}, 33);
  EXPECT_EQ(message_of(query.view(), three.view(), value.view()),
            "multi_head_attention: key has shape (3, 4, 6), expected (B, Lkv, "
            "kdim) = (2, 4, 6)");
}

TEST(MultiHeadAttentionErrorsTest, OptionsThatDoNotFitAreErrors) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 3, 8}, 34);
  const auto lengths = filled<std::int64_t, 1>({2}, 4);
  RecordedTrace trace;
  for (TraceSink* sink :
       {static_cast<TraceSink*>(nullptr), static_cast<TraceSink*>(&trace)}) {
    const auto result =
        layer.forward(x.view(), x.view(), x.view(),
                      {.mask = key_lengths(lengths.view())}, sink);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message,
              "attention: key_lengths[0] is 4, expected 0 to Lkv = 3");
  }
}

// ---- Parameters from outside. ----

Linear linear_of(std::size_t out, std::size_t in, bool bias = true) {
  return Linear::create({.in_features = in, .out_features = out, .bias = bias},
                        RandomStream(Seed{1}, 40))
      .value();
}

TEST(FromParamsTest, TheSizesComeFromTheParameters) {
  const auto layer =
      MultiHeadAttention::from_params({.w_q = linear_of(6, 3, false),
                                       .w_k = linear_of(6, 4, false),
                                       .w_v = linear_of(10, 5, false),
                                       .w_o = linear_of(7, 10, false)},
                                      2)
          .value();
  EXPECT_EQ(layer.config().embed_dim, 7u);
  EXPECT_EQ(layer.config().num_heads, 2u);
  EXPECT_EQ(layer.config().query_dim, 3u);
  EXPECT_EQ(layer.config().kdim, 4u);
  EXPECT_EQ(layer.config().vdim, 5u);
  EXPECT_EQ(layer.config().head_dim, 3u);
  EXPECT_EQ(layer.config().v_head_dim, 5u);
  EXPECT_FALSE(layer.config().bias);
  EXPECT_TRUE(layer.config().out_proj);
}

TEST(FromParamsTest, WithoutAnOutputProjectionTheOutputIsTheMergedHeads) {
  const auto layer = MultiHeadAttention::from_params({.w_q = linear_of(6, 3),
                                                      .w_k = linear_of(6, 3),
                                                      .w_v = linear_of(10, 3)},
                                                     2)
                         .value();
  EXPECT_FALSE(layer.config().out_proj);
  EXPECT_EQ(layer.config().embed_dim, 10u);
  const auto x = uniform<3>({1, 4, 3}, 41);
  EXPECT_EQ(forward_of(layer, x).output.extents(), (Extents<3>{1, 4, 10}));
}

TEST(FromParamsTest, AProjectionMayHaveABiasWhereOthersHaveNone) {
  const auto layer =
      MultiHeadAttention::from_params({.w_q = linear_of(6, 3, true),
                                       .w_k = linear_of(6, 3, false),
                                       .w_v = linear_of(6, 3, true),
                                       .w_o = linear_of(3, 6, false)},
                                      2)
          .value();
  const auto x = uniform<3>({1, 4, 3}, 42);
  EXPECT_EQ(forward_of(layer, x).output.extents(), (Extents<3>{1, 4, 3}));
}

TEST(FromParamsTest, TheParametersOfALayerGiveThatLayerAgain) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto copy_of_linear = [](const Linear& linear) {
    auto weight = Tensor<float, 2>::create(linear.weight().extents()).value();
    std::copy_n(linear.weight().data(), weight.size(), weight.data());
    auto bias = Tensor<float, 1>::create(linear.bias().extents()).value();
    std::copy_n(linear.bias().data(), bias.size(), bias.data());
    return Linear::from_params(std::move(weight), std::move(bias)).value();
  };
  const auto again = MultiHeadAttention::from_params(
                         {.w_q = copy_of_linear(layer.params()->w_q),
                          .w_k = copy_of_linear(layer.params()->w_k),
                          .w_v = copy_of_linear(layer.params()->w_v),
                          .w_o = copy_of_linear(*layer.params()->w_o)},
                         2)
                         .value();
  EXPECT_TRUE(same_params(layer, again));
  const auto x = uniform<3>({2, 4, 8}, 43);
  EXPECT_TRUE(
      same_bits(forward_of(layer, x).output, forward_of(again, x).output));
}

TEST(FromParamsTest, ParametersThatDoNotFitNameTheOne) {
  const auto error_of = [](MultiHeadAttentionParams params,
                           std::size_t num_heads, ErrorCode code) {
    const auto layer =
        MultiHeadAttention::from_params(std::move(params), num_heads);
    if (layer) {
      return std::string("no error");
    }
    EXPECT_EQ(layer.error().code, code);
    return layer.error().message;
  };
  const ErrorCode invalid = ErrorCode::invalid_argument;
  const ErrorCode shape = ErrorCode::shape_mismatch;
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(6, 3), {}}, 0,
                     invalid),
            "multi_head_attention: num_heads is 0, expected at least 1");
  EXPECT_EQ(error_of({linear_of(5, 3), linear_of(5, 3), linear_of(6, 3), {}}, 2,
                     invalid),
            "multi_head_attention: the number of rows of w_q.weight is 5, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(5, 3), linear_of(6, 3), {}}, 2,
                     invalid),
            "multi_head_attention: the number of rows of w_k.weight is 5, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(7, 3), {}}, 2,
                     invalid),
            "multi_head_attention: the number of rows of w_v.weight is 7, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(8, 4), linear_of(6, 3), {}}, 2,
                     shape),
            "multi_head_attention: w_k.weight has shape (8, 4), expected "
            "(rows of w_q.weight, kdim) = (6, 4)");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(8, 3),
                      linear_of(5, 6)},
                     2, shape),
            "multi_head_attention: w_o.weight has shape (5, 6), expected "
            "(embed_dim, rows of w_v.weight) = (5, 8)");
}

}  // namespace
}  // namespace headwise
