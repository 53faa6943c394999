// How a layer projects its inputs: side by side where they are one tensor, only
// what somebody sees, and grouped heads of keys and values. No bit shows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "module/layer.h"
#include "support/errors.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(ProjectedInputsTest, OneTensorThriceGivesTheBitsOfThreeCopies) {
  const auto layer = layer_of({.embed_dim = 136, .num_heads = 4});
  const auto x = uniform<3>({2, 30, 136}, 50);
  const auto key = clone(x);
  const auto value = clone(x);
  const auto apart = layer.forward(x, key, value).value();
  const auto together = forward_of(layer, x);
  const auto cross = layer.forward(x, key, key).value();
  EXPECT_TRUE(same_bits(together.output, apart.output));
  EXPECT_TRUE(same_bits(cross.output, apart.output));
}

Tensor<float, 3> copy_of(TensorView<const float, 3> view) {
  const auto [B, L, E] = view.extents();
  auto copy = Tensor<float, 3>::create({B, L, E}).value();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      std::copy_n(&view(b, l, 0), E, &copy(b, l, 0));
    }
  }
  return copy;
}

// All of them begin at the same element.
TEST(ProjectedInputsTest, ViewsOfOneTensorThatDifferAreProjectedApart) {
  using View = TensorView<const float, 3>;
  const auto x = uniform<3>({2, 6, 8}, 55);
  const View all = x;
  const View first_tokens(x.data(), {2, 2, 8}, {48, 8, 1});
  const View first_sequence(x.data(), {2, 6, 8}, {0, 8, 1});
  for (const auto& [query, key, value] :
       {std::array<View, 3>{first_tokens, all, all},
        {all, first_sequence, first_sequence},
        {all, all, first_sequence}}) {
    const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
    const auto together = layer.forward(query, key, value).value();
    const auto q = copy_of(query);
    const auto k = copy_of(key);
    const auto v = copy_of(value);
    const auto apart = layer.forward(q, k, v).value();
    EXPECT_TRUE(same_bits(together.output, apart.output));
  }
}

// The tokens behind every length hold NaN, which reach no output.
TEST(ProjectedInputsTest, PaddingThatNobodySeesChangesNoBit) {
  const auto layer = layer_of({.embed_dim = 24, .num_heads = 3});
  const auto query = uniform<3>({3, 5, 24}, 51);
  auto key = uniform<3>({3, 150, 24}, 52);
  const auto lengths = tensor_of<std::int64_t, 1>({3}, {150, 7, 0});
  const AttentionOptions options = {.mask = key_lengths(lengths),
                                    .attn_weights = AttnWeights::per_head};
  RecordedTrace trace;  // computes every key
  const auto whole =
      layer.forward(query.view(), key.view(), key.view(), options, {}, &trace)
          .value();
  const auto some =
      layer.forward(query.view(), key.view(), key.view(), options).value();
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t l = static_cast<std::size_t>(lengths(b)); l < 150; ++l) {
      std::fill_n(&key(b, l, 0), 24, kNaN);
    }
  }
  const auto poisoned = layer.forward(query, key, key, options).value();
  for (const auto* got : {&some, &poisoned}) {
    EXPECT_TRUE(same_bits(got->output, whole.output));
    EXPECT_TRUE(same_bits(got->attn_weights, whole.attn_weights));
    EXPECT_TRUE(same_bits(got->lse, whole.lse));
  }
}

TEST(ProjectedInputsTest, SelfAttentionProjectsEveryQueryOfAPaddedBatch) {
  const auto layer = layer_of({.embed_dim = 24, .num_heads = 3});
  const auto x = uniform<3>({2, 140, 24}, 53);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {3, 140});
  const AttentionOptions options = {.mask = key_lengths(lengths)};
  RecordedTrace trace;
  EXPECT_TRUE(same_bits(forward_of(layer, x, options).output,
                        forward_of(layer, x, options, {}, &trace).output));
}

TEST(ProjectedInputsTest, AUniformEmptyRowAveragesTheValuesOfThePaddingToo) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 20, 8}, 54);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 20});
  const AttentionOptions options = {.mask = key_lengths(lengths),
                                    .empty_rows = EmptyRow::uniform};
  RecordedTrace trace;
  EXPECT_TRUE(same_bits(forward_of(layer, x, options).output,
                        forward_of(layer, x, options, {}, &trace).output));
  // Not the mean of zeros, which the bias of w_o alone would be.
  EXPECT_FALSE(
      same_bits(forward_of(layer, x, options).output,
                forward_of(layer, x, {.mask = key_lengths(lengths)}).output));
}

// ---- Grouped heads of keys and values. ----

// The rows of a grouped projection, each head as often as it is read.
Linear repeated(const Linear& linear, std::size_t heads, std::size_t times) {
  const std::size_t dim = linear.out_features() / heads;
  const std::size_t in = linear.in_features();
  auto weight = Tensor<float, 2>::create({heads * times * dim, in}).value();
  auto bias = Tensor<float, 1>::create({heads * times * dim}).value();
  for (std::size_t row = 0; row < weight.extent(0); ++row) {
    const std::size_t from = row / dim / times * dim + row % dim;
    for (std::size_t i = 0; i < in; ++i) {
      weight(row, i) = linear.weight()(from, i);
    }
    bias(row) = linear.bias()(from);
  }
  return Linear::from_params(std::move(weight), std::move(bias)).value();
}

// ---- A ragged batch: rows one after another. ----

TEST(RaggedLayerTest, HasTheBitsOfThePaddedBatch) {
  const auto layer = layer_of({.embed_dim = 24, .num_heads = 3});
  const auto x = uniform<3>({3, 7, 24}, 90, -1, 1);
  const std::vector<std::int64_t> lengths = {4, 7, 0};
  const std::vector<std::int64_t> offsets = {0, 4, 11, 11};
  auto rows = Tensor<float, 3>::create({1, 11, 24}).value();
  std::copy_n(x.data(), 4 * 24, rows.data());
  std::copy_n(x.data() + 7 * 24, 7 * 24, rows.data() + 4 * 24);
  const TensorView<const std::int64_t, 1> ends(lengths.data(), {3});
  const TensorView<const std::int64_t, 1> starts(offsets.data(), {4});
  const auto padded = forward_of(layer, x,
                                 {.mask = causal() & key_lengths(ends),
                                  .attn_weights = AttnWeights::per_head});
  const auto ragged = forward_of(layer, rows,
                                 {.mask = causal(),
                                  .offsets = starts,
                                  .attn_weights = AttnWeights::per_head});
  const auto output = padded.output.elements();
  EXPECT_TRUE(
      same_bits(ragged.output.elements().first(4 * 24), output.first(4 * 24)));
  EXPECT_TRUE(same_bits(ragged.output.elements().subspan(4 * 24),
                        output.subspan(7 * 24, 7 * 24)));
  EXPECT_EQ(ragged.attn_weights.extents(), (Extents<4>{3, 3, 7, 7}));
  EXPECT_EQ(ragged.attn_weights(1, 2, 6, 3), padded.attn_weights(1, 2, 6, 3));
}

TEST(RaggedLayerTest, WhatItCannotShowIsAnError) {
  auto layer = layer_of({.embed_dim = 24, .num_heads = 3});
  const auto x = uniform<3>({1, 11, 24}, 91, -1, 1);
  const std::vector<std::int64_t> offsets = {0, 4, 11};
  const TensorView<const std::int64_t, 1> starts(offsets.data(), {3});
  RecordedTrace trace;
  const auto traced = std::as_const(layer).forward(
      x.view(), x.view(), x.view(), {.offsets = starts}, {}, &trace);
  ASSERT_FALSE(traced);
  EXPECT_EQ(traced.error().code(), ErrorCode::unsupported);
  const TensorView<const float, 2> unbatched(x.data(), {11, 24});
  const auto weights =
      layer.forward(unbatched, unbatched, unbatched,
                    {.offsets = starts, .attn_weights = AttnWeights::per_head});
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().code(), ErrorCode::unsupported);
}

TEST(GroupedHeadsTest, AreTheBitsOfAllHeadsWithRepeatedKeys) {
  for (const std::size_t num_kv_heads : {1u, 2u, 6u}) {
    const auto layer = layer_of({.embed_dim = 30,
                                 .num_heads = 6,
                                 .num_kv_heads = num_kv_heads,
                                 .v_head_dim = 3});
    EXPECT_EQ(layer.params()->w_k.out_features(), num_kv_heads * 5);
    EXPECT_EQ(layer.params()->w_v->out_features(), num_kv_heads * 3);
    const std::size_t times = 6 / num_kv_heads;
    const auto all =
        MultiHeadAttention::from_params(
            {.w_q = repeated(layer.params()->w_q, 6, 1),
             .w_k = repeated(layer.params()->w_k, num_kv_heads, times),
             .w_v = repeated(*layer.params()->w_v, num_kv_heads, times),
             .w_o = repeated(*layer.params()->w_o, 1, 1)},
            6)
            .value();
    const auto x = uniform<3>({2, 20, 30}, 55);
    const AttentionOptions options = {.mask = causal(),
                                      .attn_weights = AttnWeights::per_head};
    EXPECT_TRUE(same_bits(forward_of(layer, x, options).output,
                          forward_of(all, x, options).output));
    EXPECT_TRUE(same_bits(forward_of(layer, x, options).attn_weights,
                          forward_of(all, x, options).attn_weights));
  }
}

TEST(GroupedHeadsTest, TheTraceShowsTheHeadsOfKeysAndValues) {
  const auto layer =
      layer_of({.embed_dim = 24, .num_heads = 6, .num_kv_heads = 2});
  RecordedTrace trace;
  (void)forward_of(layer, uniform<3>({1, 5, 24}, 56), {}, {}, &trace);
  EXPECT_EQ(trace.find("k")->axes,
            (std::vector<std::string>{"B", "Lkv", "Hkv*D"}));
  EXPECT_EQ(trace.find("v_heads")->axes,
            (std::vector<std::string>{"B", "Hkv", "Lkv", "Dv"}));
  EXPECT_EQ(trace.find("v_heads")->extents,
            (std::vector<std::size_t>{1, 2, 5, 4}));
}

TEST(GroupedHeadsTest, HeadsThatDoNotDivideAreErrors) {
  const auto error_of = [](std::size_t num_kv_heads) {
    return MultiHeadAttention::create(
               {.embed_dim = 8, .num_heads = 4, .num_kv_heads = num_kv_heads},
               Seed{7})
        .error()
        .message();
  };
  EXPECT_EQ(error_of(0),
            "multi_head_attention: num_kv_heads is 0, expected at least 1");
  EXPECT_EQ(error_of(3),
            "multi_head_attention: num_kv_heads is 3, expected a divisor of "
            "num_heads = 4");
  const auto of = [](std::size_t out, std::size_t in) {
    return Linear::create({in, out}, RandomStream(Seed{1}, 40)).value();
  };
  const auto wrong_rows =
      MultiHeadAttention::from_params({of(8, 3), of(6, 3), of(4, 3), {}}, 4, 2);
  ASSERT_FALSE(wrong_rows);
  EXPECT_THAT(wrong_rows, IsAbout("w_k.weight", "(6, 3)", "(4, 3)"));
  const auto wrong_output = MultiHeadAttention::from_params(
      {of(8, 3), of(4, 3), of(6, 3), of(5, 6)}, 4, 2);
  ASSERT_FALSE(wrong_output);
  EXPECT_THAT(wrong_output, IsAbout("w_o.weight", "(5, 6)", "(5, 12)"));
}

}  // namespace
}  // namespace headwise::testing_support
