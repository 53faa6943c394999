// Norms of queries and keys in the layer: the heads that it compares are those
// of the step. backward_test.cc has its gradients.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/steps/softmax.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

std::vector<QkNorm> norms() {
  return {{},
          {.over = NormOver::projection, .plus_one = true},
          {.kind = NormKind::layer, .over = NormOver::each_head, .bias = true}};
}

// Two heads of keys for four of queries.
MultiHeadAttention normed_layer(const QkNorm& norm,
                                std::optional<Rotary> rotary = {},
                                bool out_proj = true) {
  auto layer = layer_of({.embed_dim = 32,
                         .num_heads = 4,
                         .num_kv_heads = 2,
                         .out_proj = out_proj,
                         .qk_norm = norm,
                         .rotary = std::move(rotary)});
  draw_norms(layer);
  return layer;
}

Tensor<float, 4> projected(const Linear& linear, const Tensor<float, 3>& x,
                           std::size_t heads) {
  const auto y = linear.forward(x.view(), "x").value();
  auto split = filled<float, 4>(
      {x.extent(0), x.extent(1), heads, y.extent(2) / heads}, 0);
  std::ranges::copy(y.elements(), split.data());
  return split;
}

TEST(QkNormLayerTest, NormalisesAndThenRotatesTheHeads) {
  const Rotary rotary = Rotary::create({.rotary_dim = 6, .base = 50}).value();
  const auto x = uniform<3>({2, 9, 32}, 221);
  const AttentionOptions options = {.mask = causal(), .query_start = 3};
  for (const QkNorm& norm : norms()) {
    for (const bool rotates : {false, true}) {
      const auto layer = normed_layer(
          norm, rotates ? std::optional(rotary) : std::nullopt, false);
      const MultiHeadAttentionParams& params = *layer.params();
      auto q = projected(params.w_q, x, 4);
      auto k = projected(params.w_k, x, 2);
      const auto v = projected(*params.w_v, x, 2);
      ASSERT_TRUE(norm_heads(norm, *params.q_norm, q, q));
      ASSERT_TRUE(norm_heads(norm, *params.k_norm, k, k));
      if (rotates) {
        ASSERT_TRUE(rotary.rotate(q, q, {.start = 3}));
        ASSERT_TRUE(rotary.rotate(k, k));
      }
      auto want = filled<float, 4>(q.extents(), -7);
      ASSERT_TRUE(attention(q, k, v, want, options));
      const auto got = forward_of(layer, x, options);
      EXPECT_TRUE(same_bits(got.output.elements(), want.elements()));
      const auto saved = layer.forward_for_backward(x, x, x, options).value();
      EXPECT_TRUE(same_bits(saved.result().output, got.output));
      auto into = filled<float, 3>({2, 9, 32}, -7);
      ASSERT_TRUE(layer.forward_into(x, x, x, into, options));
      EXPECT_TRUE(same_bits(into, got.output));
    }
  }
}

TEST(QkNormLayerTest, ParametersBeginAsTheIdentity) {
  const auto layer =
      layer_of({.embed_dim = 8,
                .num_heads = 2,
                .qk_norm = QkNorm{.kind = NormKind::layer, .bias = true}});
  const MultiHeadAttentionParams& params = *layer.params();
  EXPECT_TRUE(same_bits(params.q_norm->weight, filled<float, 1>({4}, 1)));
  EXPECT_TRUE(same_bits(params.k_norm->bias, filled<float, 1>({4}, 0)));
  const auto gemma = layer_of(
      {.embed_dim = 8,
       .num_heads = 2,
       .num_kv_heads = 1,
       .qk_norm = QkNorm{.over = NormOver::projection, .plus_one = true}});
  EXPECT_TRUE(
      same_bits(gemma.params()->q_norm->weight, filled<float, 1>({8}, 0)));
  EXPECT_EQ(gemma.params()->k_norm->weight.size(), 4u);
  EXPECT_EQ(gemma.params()->k_norm->bias.size(), 0u);
}

TEST(QkNormLayerTest, ARaggedBatchHasTheBitsOfThePaddedOneThereAndBack) {
  const std::vector<std::int64_t> lengths = {130, 200};
  const std::vector<std::int64_t> offsets = {0, 130, 330};
  const Rotary rotary = Rotary::create({.rotary_dim = 8, .base = 50}).value();
  for (const QkNorm& norm : norms()) {
    const auto layer = normed_layer(norm, rotary);
    LayerCall padded = random_layer_call(layer, 2, 200, 200, 3950);
    LayerCall ragged = random_layer_call(layer, 1, 330, 330, 3960);
    std::fill_n(&padded.d_output(0, 130, 0), 70 * 32, 0.0f);
    for (const auto member : {&LayerCall::query, &LayerCall::key,
                              &LayerCall::value, &LayerCall::d_output}) {
      std::copy_n((padded.*member).data(), 130 * 32, (ragged.*member).data());
      std::copy_n(&(padded.*member)(1, 0, 0), 200 * 32,
                  &(ragged.*member)(0, 130, 0));
    }
    // What padding holds is nothing.
    std::fill_n(&padded.query(0, 130, 0), 70 * 32, kNaN);
    std::fill_n(&padded.key(0, 130, 0), 70 * 32, kNaN);
    const AttentionOptions of_padded = {.mask =
                                            key_lengths(lengths) & causal()};
    const AttentionOptions of_ragged = {.mask = causal(), .offsets = offsets};
    const auto all =
        layer.forward(padded.query, padded.key, padded.value, of_padded)
            .value()
            .output;
    const auto rows =
        layer.forward(ragged.query, ragged.key, ragged.value, of_ragged)
            .value()
            .output;
    EXPECT_TRUE(
        same_bits({&rows(0, 0, 0), 130 * 32}, {&all(0, 0, 0), 130 * 32}));
    EXPECT_TRUE(
        same_bits({&rows(0, 130, 0), 200 * 32}, {&all(1, 0, 0), 200 * 32}));
    const auto back = gradients_of(layer, padded, of_padded);
    const auto of_rows = gradients_of(layer, ragged, of_ragged);
    EXPECT_TRUE(same_bits(back.q_norm->weight, of_rows.q_norm->weight));
    EXPECT_TRUE(same_bits(back.q_norm->bias, of_rows.q_norm->bias));
    EXPECT_TRUE(same_bits(back.k_norm->weight, of_rows.k_norm->weight));
    EXPECT_TRUE(same_bits(back.k_norm->bias, of_rows.k_norm->bias));
    EXPECT_TRUE(same_bits(back.w_q.weight, of_rows.w_q.weight));
    EXPECT_TRUE(same_bits({&back.key(1, 0, 0), 200 * 32},
                          {&of_rows.key(0, 130, 0), 200 * 32}));
  }
}

TEST(QkNormLayerTest, ASequenceHasItsBitsWithoutItsNeighbours) {
  for (const QkNorm& norm : norms()) {
    const auto layer = normed_layer(norm);
    const auto x = uniform<3>({3, 17, 32}, 222);
    auto alone = filled<float, 3>({1, 17, 32}, 0);
    std::copy_n(&x(2, 0, 0), alone.size(), alone.data());
    const auto all = forward_of(layer, x).output;
    EXPECT_TRUE(same_bits({&all(2, 0, 0), alone.size()},
                          forward_of(layer, alone).output.elements()));
  }
}

TEST(QkNormLayerTest, ATraceShowsTheNormBeforeTheRotation) {
  const auto layer =
      normed_layer({}, Rotary::create({.rotary_dim = 8, .base = 50}).value());
  const auto x = uniform<3>({1, 3, 32}, 223);
  RecordedTrace trace;
  const auto with = forward_of(layer, x, {}, {}, &trace);
  EXPECT_TRUE(same_bits(with.output, forward_of(layer, x).output));
  const auto names = trace.names();
  const auto at = std::ranges::find(names, "v_heads");
  ASSERT_GE(names.end() - at, 5);
  EXPECT_THAT(std::vector<std::string>(at + 1, at + 5),
              ElementsAre("q_normed", "k_normed", "q_rotated", "k_rotated"));
  const auto* normed = trace.find("k_normed");
  EXPECT_EQ(normed->axes, trace.find("k_heads")->axes);
  EXPECT_NE(normed->elements, trace.find("k_heads")->elements);
  EXPECT_NE(normed->elements, trace.find("k_rotated")->elements);
}

TEST(QkNormLayerTest, IsMadeOfItsParametersAgain) {
  for (const QkNorm& norm : norms()) {
    const auto layer = normed_layer(norm);
    const MultiHeadAttentionParams& params = *layer.params();
    const auto copy = [](const Linear& linear) {
      auto weight = filled<float, 2>(linear.weight().extents(), 0);
      auto bias = filled<float, 1>(linear.bias().extents(), 0);
      std::copy_n(linear.weight().data(), weight.size(), weight.data());
      std::copy_n(linear.bias().data(), bias.size(), bias.data());
      return Linear::from_params(std::move(weight), std::move(bias)).value();
    };
    const auto copy_norm = [](const HeadNormParams& of) {
      return HeadNormParams{of.weight.clone().value(), of.bias.clone().value()};
    };
    QkNorm said = norm;
    said.bias = false;  // the parameters say it
    const auto again = MultiHeadAttention::from_params(
                           {.w_q = copy(params.w_q),
                            .w_k = copy(params.w_k),
                            .w_v = copy(*params.w_v),
                            .w_o = copy(*params.w_o),
                            .q_norm = copy_norm(*params.q_norm),
                            .k_norm = copy_norm(*params.k_norm)},
                           {.num_heads = 4, .num_kv_heads = 2, .qk_norm = said})
                           .value();
    EXPECT_TRUE(same_params(layer, again));
    EXPECT_EQ(again.config().qk_norm->bias, norm.bias);
    const auto x = uniform<3>({1, 5, 32}, 224);
    EXPECT_TRUE(
        same_bits(forward_of(layer, x).output, forward_of(again, x).output));
  }
}

TEST(QkNormLayerTest, ErrorsNameTheArgument) {
  const auto about = [](const char* argument,
                        ErrorCode code = ErrorCode::invalid_argument) {
    return HasError({.code = code,
                     .operation = "multi_head_attention",
                     .argument = argument});
  };
  const auto create = [](const QkNorm& norm) {
    return MultiHeadAttention::create(
        {.embed_dim = 8, .num_heads = 2, .qk_norm = norm}, Seed{1});
  };
  EXPECT_THAT(create({.eps = 0}), about("qk_norm.eps"));
  EXPECT_THAT(create({.bias = true}), about("qk_norm.bias"));
  const auto linear = [] {
    return Linear::create({.in_features = 8, .out_features = 8},
                          RandomStream(Seed{1}, 1))
        .value();
  };
  const auto sized = [](std::size_t weight, std::size_t bias = 0) {
    return HeadNormParams{filled<float, 1>({weight}, 1),
                          filled<float, 1>({bias}, 0)};
  };
  const auto from = [&](std::optional<HeadNormParams> q_norm,
                        std::optional<HeadNormParams> k_norm,
                        std::optional<QkNorm> norm) {
    return MultiHeadAttention::from_params({.w_q = linear(),
                                            .w_k = linear(),
                                            .w_v = linear(),
                                            .w_o = linear(),
                                            .q_norm = std::move(q_norm),
                                            .k_norm = std::move(k_norm)},
                                           {.num_heads = 2, .qk_norm = norm});
  };
  const QkNorm rms;
  const QkNorm layer{.kind = NormKind::layer};
  const ErrorCode shape = ErrorCode::shape_mismatch;
  EXPECT_TRUE(from(sized(4), sized(4), rms));
  EXPECT_THAT(from(sized(4), sized(4), {}), about("qk_norm"));
  EXPECT_THAT(from({}, {}, rms), about("qk_norm"));
  EXPECT_THAT(from(sized(4), {}, rms), about("k_norm"));
  EXPECT_THAT(from({}, sized(4), rms), about("q_norm"));
  EXPECT_THAT(from(sized(8), sized(4), rms), about("q_norm.weight", shape));
  EXPECT_THAT(from(sized(4), sized(5), rms), about("k_norm.weight", shape));
  EXPECT_THAT(from(sized(4, 4), sized(4), layer), about("k_norm.bias", shape));
  EXPECT_THAT(from(sized(4, 4), sized(4, 4), rms), about("qk_norm.bias"));
  EXPECT_TRUE(from(sized(4, 4), sized(4, 4), layer));
}

}  // namespace
}  // namespace headwise::testing_support
