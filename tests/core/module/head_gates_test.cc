// Gates of a layer's heads, and a layer that has no head left.

#include <vector>

#include "module/layer.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const MultiHeadAttentionConfig kGrouped = {
    .embed_dim = 12, .num_heads = 4, .num_kv_heads = 2, .head_dim = 5};

double dot(const Tensor<float, 3>& a, const Tensor<float, 3>& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    sum += static_cast<double>(a.data()[n]) * static_cast<double>(b.data()[n]);
  }
  return sum;
}

MultiHeadAttentionGradients gradients_of(const MultiHeadAttention& layer,
                                         const Tensor<float, 3>& x,
                                         const Tensor<float, 3>& d_output,
                                         const AttentionOptions& options,
                                         const LayerOptions& layer_options) {
  auto saved = layer
                   .forward_for_backward(x.view(), x.view(), x.view(), options,
                                         layer_options)
                   .value();
  return layer.backward(saved, d_output.view()).value();
}

TEST(LayerGatesTest, GatesOfOneChangeNoBit) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 1);
  const auto ones = filled<float, 1>({4}, 1);
  EXPECT_TRUE(same_bits(
      forward_of(layer, x).output.elements(),
      forward_of(layer, x, {}, {.head_gates = ones.view()}).output.elements()));
}

TEST(LayerGatesTest, AGateIsAFactorOnItsColumnsOfTheOutputProjection) {
  MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 2);
  const auto gates = tensor_of<float, 1>({4}, {1, 0.5, 0, -2});
  const auto got = forward_of(layer, x, {}, {.head_gates = gates.view()});
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    for (std::size_t n = 0; name == "w_o.weight" && n < values.size(); ++n) {
      values[n] *= gates(n % 20 / 5);
    }
    return ok();
  }));
  // Factors that are powers of two are exact on either side.
  EXPECT_TRUE(
      same_bits(got.output.elements(), forward_of(layer, x).output.elements()));
}

TEST(LayerGatesTest, TheOutputIsLinearInAGateAndSoIsItsGradient) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 3);
  const auto d_output = uniform<3>({2, 6, 12}, 4);
  const auto gates = tensor_of<float, 1>({4}, {1, 0.5, 0, -2});
  const auto gradients =
      gradients_of(layer, x, d_output, {}, {.head_gates = gates.view()});
  ASSERT_EQ(gradients.head_gates.extents(), (Extents<2>{2, 4}));
  for (std::size_t h = 0; h < 4; ++h) {
    const auto loss_at = [&](float gate) {
      auto moved = gates.clone().value();
      moved(h) = gate;
      return dot(d_output,
                 forward_of(layer, x, {}, {.head_gates = moved.view()}).output);
    };
    EXPECT_NEAR(static_cast<double>(gradients.head_gates(0, h)) +
                    static_cast<double>(gradients.head_gates(1, h)),
                (loss_at(3) - loss_at(-5)) / 8, 2e-6);
  }
}

TEST(LayerGatesTest, OtherGradientsAreThoseOfTheFactorInTheProjection) {
  MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 6, 12}, 5);
  const auto d_output = uniform<3>({1, 6, 12}, 6);
  const auto gates = tensor_of<float, 1>({4}, {2, 0.5, 0, 1});
  const auto got =
      gradients_of(layer, x, d_output, {}, {.head_gates = gates.view()});
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    for (std::size_t n = 0; name == "w_o.weight" && n < values.size(); ++n) {
      values[n] *= gates(n % 20 / 5);
    }
    return ok();
  }));
  const auto want = gradients_of(layer, x, d_output, {}, {});
  EXPECT_TRUE(same_bits(got.query.elements(), want.query.elements()));
  EXPECT_TRUE(same_bits(got.w_k.weight.elements(), want.w_k.weight.elements()));
  EXPECT_TRUE(same_bits(got.w_v.bias.elements(), want.w_v.bias.elements()));
  for (std::size_t n = 0; n < got.w_o->weight.size(); ++n) {
    const float gate = gates(n % 20 / 5);
    EXPECT_EQ(got.w_o->weight.data()[n], want.w_o->weight.data()[n] * gate);
  }
}

TEST(LayerGatesTest, ALayerWithoutAnOutputProjectionHasThemToo) {
  const MultiHeadAttention layer =
      layer_of({.embed_dim = 8, .num_heads = 2, .out_proj = false});
  const auto x = uniform<3>({1, 5, 8}, 7);
  const auto d_output = uniform<3>({1, 5, 8}, 8);
  const auto gates = tensor_of<float, 1>({2}, {0, 2});
  const auto plain = forward_of(layer, x).output;
  const auto got =
      forward_of(layer, x, {}, {.head_gates = gates.view()}).output;
  for (std::size_t l = 0; l < 5; ++l) {
    for (std::size_t e = 0; e < 8; ++e) {
      EXPECT_EQ(got(0, l, e), plain(0, l, e) * gates(e / 4));
    }
  }
  const auto gradients =
      gradients_of(layer, x, d_output, {}, {.head_gates = gates.view()});
  double first = 0;
  for (std::size_t l = 0; l < 5; ++l) {
    for (std::size_t e = 0; e < 4; ++e) {
      first += static_cast<double>(plain(0, l, e)) *
               static_cast<double>(d_output(0, l, e));
    }
  }
  EXPECT_NEAR(gradients.head_gates(0, 0), first, 1e-6);
}

TEST(LayerGatesTest, ARaggedBatchHasTheGradientsOfEachSequence) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 9, 12}, 9);
  const auto d_output = uniform<3>({1, 9, 12}, 10);
  const auto gates = tensor_of<float, 1>({4}, {1, 1, 0.5, 1});
  const std::vector<std::int64_t> offsets = {0, 4, 9};
  const auto ragged = gradients_of(
      layer, x, d_output,
      {.offsets = TensorView<const std::int64_t, 1>(offsets.data(), {3})},
      {.head_gates = gates.view()});
  ASSERT_EQ(ragged.head_gates.extents(), (Extents<2>{2, 4}));
  for (std::size_t n = 0; n < 2; ++n) {
    const auto begin = static_cast<std::size_t>(offsets[n]);
    const std::size_t L = static_cast<std::size_t>(offsets[n + 1]) - begin;
    const TensorView<const float, 3> part(&x(0, begin, 0), {1, L, 12});
    auto saved = layer
                     .forward_for_backward(part, part, part, {},
                                           {.head_gates = gates.view()})
                     .value();
    const auto alone =
        layer
            .backward(saved, TensorView<const float, 3>(&d_output(0, begin, 0),
                                                        {1, L, 12}))
            .value();
    EXPECT_TRUE(
        same_bits({&ragged.head_gates(n, 0), 4}, alone.head_gates.elements()));
  }
}

TEST(LayerGatesTest, TheTraceShowsTheGatedContext) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 3, 12}, 11);
  const auto gates = tensor_of<float, 1>({4}, {1, 0, 1, 1});
  RecordedTrace with;
  forward_of(layer, x, {}, {.head_gates = gates.view()}, &with);
  ASSERT_NE(with.find("gated"), nullptr);
  RecordedTrace without;
  forward_of(layer, x, {}, {}, &without);
  EXPECT_EQ(without.find("gated"), nullptr);
}

TEST(LayerGatesTest, WhatDoesNotFitIsNamed) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 3, 12}, 12);
  const auto five = filled<float, 1>({5}, 1);
  EXPECT_THAT(layer
                  .forward(x.view(), x.view(), x.view(), {},
                           {.head_gates = five.view()})
                  .error()
                  .message(),
              HasSubstr("head_gates has shape (5), expected (H) = (4)"));
}

// Gates are no option of the operation.
template <class Options>
concept HasHeadGates = requires(Options options) {
  options.head_gates;
};
static_assert(HasHeadGates<LayerOptions> && !HasHeadGates<AttentionOptions>);

// ---- No head left. ----

MultiHeadAttention no_heads(std::size_t E, bool bias = true) {
  const auto linear = [&](std::size_t out, std::size_t in) {
    return Linear::from_params(
               Tensor<float, 2>::create({out, in}).value(),
               bias ? uniform<1>({out}, 14) : Tensor<float, 1>())
        .value();
  };
  return MultiHeadAttention::from_params(
             {linear(0, E), linear(0, E), linear(0, E), linear(E, 0)}, 0)
      .value();
}

TEST(NoHeadsTest, TheOutputIsTheBias) {
  const MultiHeadAttention layer = no_heads(6);
  const auto x = uniform<3>({2, 3, 6}, 15);
  const auto result =
      forward_of(layer, x, {.attn_weights = AttnWeights::per_head});
  EXPECT_EQ(result.attn_weights.extents(), (Extents<4>{2, 0, 3, 3}));
  EXPECT_EQ(result.lse.extents(), (Extents<3>{2, 0, 3}));
  const auto bias = layer.params()->w_o->bias();
  for (std::size_t n = 0; n < 36; ++n) {
    EXPECT_EQ(result.output.data()[n], bias(n % 6));
  }
  auto into = Tensor<float, 3>::create({2, 3, 6}).value();
  ASSERT_TRUE(layer.forward_into(x, x, x, into));
  EXPECT_TRUE(same_bits(into.elements(), result.output.elements()));
}

TEST(NoHeadsTest, WithoutABiasTheOutputIsZero) {
  const auto x = uniform<3>({1, 3, 6}, 16);
  const auto result = forward_of(no_heads(6, false), x);
  for (const float y : result.output.elements()) {
    EXPECT_EQ(y, 0);
  }
}

TEST(NoHeadsTest, OnlyTheBiasHasAGradient) {
  const MultiHeadAttention layer = no_heads(6);
  const auto x = uniform<3>({1, 3, 6}, 17);
  const auto d_output = uniform<3>({1, 3, 6}, 18);
  const auto gradients = gradients_of(layer, x, d_output, {}, {});
  ASSERT_EQ(gradients.w_o->bias.size(), 6u);
  for (std::size_t e = 0; e < 6; ++e) {
    EXPECT_FLOAT_EQ(gradients.w_o->bias(e),
                    d_output(0, 0, e) + d_output(0, 1, e) + d_output(0, 2, e));
  }
  for (const auto* by : {&gradients.query, &gradients.key, &gradients.value}) {
    ASSERT_EQ(by->extents(), (Extents<3>{1, 3, 6}));
    for (const float g : by->elements()) {
      EXPECT_EQ(g, 0);
    }
  }
  EXPECT_EQ(gradients.w_q.weight.extents(), (Extents<2>{0, 6}));
  EXPECT_EQ(gradients.w_o->weight.extents(), (Extents<2>{6, 0}));
}

TEST(NoHeadsTest, ParametersOfHeadsThatAreNotThereAreAnError) {
  const auto linear = [](std::size_t out, std::size_t in) {
    return Linear::from_params(Tensor<float, 2>::create({out, in}).value())
        .value();
  };
  const auto made = MultiHeadAttention::from_params(
      {linear(4, 6), linear(0, 6), linear(0, 6), linear(6, 0)}, 0);
  EXPECT_THAT(made.error().message(),
              HasSubstr("w_q.weight has 4 rows, expected 0 "
                        "where num_heads is 0"));
}

}  // namespace
}  // namespace headwise::testing_support
