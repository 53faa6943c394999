// A layer in bf16: its projections and its attention are those of bf16, and
// what it does not do is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/decode/kv_cache.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "support/errors.h"
#include "support/half_tensors.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

std::vector<MultiHeadAttentionConfig> configs() {
  return {{.embed_dim = 24, .num_heads = 4, .arithmetic = Arithmetic::bf16},
          {.embed_dim = 21,
           .num_heads = 3,
           .num_kv_heads = 1,
           .bias = false,
           .rotary = Rotary::create({.rotary_dim = 6, .base = 100}).value(),
           .arithmetic = Arithmetic::bf16},
          {.embed_dim = 140,
           .num_heads = 4,
           .out_proj = false,
           .value_proj = false,
           .qk_norm = QkNorm{},
           .arithmetic = Arithmetic::bf16},
          {.embed_dim = 18,
           .num_heads = 2,
           .scoring = Scoring::additive,
           .add_bias_kv = true,
           .arithmetic = Arithmetic::bf16}};
}

MultiHeadAttentionConfig exact(MultiHeadAttentionConfig config) {
  config.arithmetic = Arithmetic::exact;
  return config;
}

TEST(Bf16LayerTest, IsItsProjectionsAndAttentionInBf16) {
  const MultiHeadAttention layer = layer_of(configs()[0]);
  const MultiHeadAttention drawn = layer_of(exact(configs()[0]));
  const auto x = uniform<3>({2, 9, 24}, 4200);
  const auto projected = [&](const Linear& linear,
                             TensorView<const float, 3> of) {
    return linear.in_bf16().value().forward(of).value();
  };
  const MultiHeadAttentionParams& params = *drawn.params();
  const auto q = projected(params.w_q, x.view());
  const auto k = projected(params.w_k, x.view());
  const auto v = projected(*params.w_v, x.view());
  auto context = Tensor<float, 3>::create({2, 9, 24}).value();
  const auto in_heads = [](auto& t) {
    return TensorView(t.data(), {2, 9, 4, 6});
  };
  ASSERT_TRUE(attention(in_heads(q), in_heads(k), in_heads(v),
                        in_heads(context), {.arithmetic = Arithmetic::bf16}));
  EXPECT_TRUE(same_bits(forward_of(layer, x).output,
                        projected(*params.w_o, std::as_const(context).view())));
}

TEST(Bf16LayerTest, IsNearTheExactOneHoweverItIsMade) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    const MultiHeadAttention layer = layer_of(config);
    MultiHeadAttention set = layer_of(exact(config));
    const auto x = uniform<3>({2, 40, config.embed_dim}, 4201);
    const auto want = forward_of(set, x).output;
    const auto got = forward_of(layer, x).output;
    double largest = 0;
    double error = 0;
    for (std::size_t n = 0; n < got.size(); ++n) {
      const double y = want.data()[n];
      largest = std::max(largest, std::abs(y));
      error = std::max(error, std::abs(double{got.data()[n]} - y));
    }
    EXPECT_LT(error, largest * 0.02);
    EXPECT_GT(error, largest * 1e-5) << "is rounded";
    ASSERT_TRUE(set.set_arithmetic(Arithmetic::bf16));
    EXPECT_TRUE(same_bits(forward_of(set, x).output, got));
    EXPECT_EQ(set.config().arithmetic, Arithmetic::bf16);
  }
}

TEST(Bf16LayerTest, OpenSizesAreDrawnInBf16) {
  MultiHeadAttentionConfig config = configs()[0];
  const auto x = uniform<3>({1, 5, 24}, 4202);
  const auto want = forward_of(layer_of(config), x).output;
  config.kdim = kOpenSize;
  MultiHeadAttention open = layer_of(config);
  ASSERT_TRUE(open.fix_sizes({.kdim = 24}));
  EXPECT_TRUE(same_bits(forward_of(open, x).output, want));
}

// Alone or in a batch with padding, on any number of threads.
TEST(Bf16LayerTest, ASequenceHasItsBitsWithAnyOthers) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    const MultiHeadAttention layer = layer_of(config);
    const std::size_t E = config.embed_dim;
    const auto x = uniform<3>({3, 150, E}, 4203);
    const std::vector<std::int64_t> lengths = {150, 1, 131};
    for (const std::size_t threads : {1u, 3u}) {
      const Executor executor = Executor::with_threads(threads).value();
      const auto got = forward_of(
          layer, x, {.mask = key_lengths(lengths), .executor = &executor});
      for (std::size_t b = 0; b < 3; ++b) {
        const auto length = static_cast<std::size_t>(lengths[b]);
        const TensorView<const float, 3> alone(&x(b, 0, 0), {1, length, E});
        const auto want = layer.forward(alone, alone, alone).value().output;
        EXPECT_TRUE(
            same_bits({&got.output(b, 0, 0), want.size()}, want.elements()))
            << "sequence " << b << ", " << threads << " threads";
      }
    }
  }
}

TEST(Bf16LayerTest, InputsOf16BitsGiveTheBitsOfTheSameNumbersAsFloats) {
  const MultiHeadAttention layer = layer_of(configs()[0]);
  const auto x = narrowed_to<BFloat16>(uniform<3>({2, 9, 24}, 4204));
  const auto got = layer.forward(x.view(), x.view(), x.view()).value().output;
  const auto wide = widened_to_float(x);
  const auto want = forward_of(layer, wide).output;
  EXPECT_TRUE(same_bits(widened_to_float(got),
                        widened_to_float(narrowed_to<BFloat16>(want))));
}

// The backward pass is that of its parts: attention in bf16, and w_o and w_q.
TEST(Bf16LayerTest, ItsGradientsAreThoseOfItsProjectionsAndAttention) {
  const MultiHeadAttention layer = layer_of(configs()[0]);
  const LayerCall call = random_layer_call(layer, 2, 9, 9, 4207);
  const auto got = gradients_of(layer, call, {});
  const MultiHeadAttentionParams& params = *layer.params();
  const auto q = params.w_q.forward(call.query).value();
  const auto k = params.w_k.forward(call.key).value();
  const auto v = params.w_v->forward(call.value).value();
  const auto in_heads = [](auto& t) {
    return TensorView(t.data(), {2, 9, 4, 6});
  };
  auto context = Tensor<float, 3>::create({2, 9, 24}).value();
  auto rows = Tensor<float, 4>::create({2, 4, 9, 2}).value();
  ASSERT_TRUE(attention(in_heads(q), in_heads(k), in_heads(v),
                        {.output = in_heads(context), .softmax_rows = rows},
                        {.arithmetic = Arithmetic::bf16}));
  const auto d_context = params.w_o->backward_input(call.d_output).value();
  auto d_q = Tensor<float, 3>::create({2, 9, 24}).value();
  ASSERT_TRUE(attention_backward(
      {in_heads(q), in_heads(k), in_heads(v), in_heads(std::as_const(context)),
       rows, in_heads(d_context)},
      {.query = in_heads(d_q)}, {.arithmetic = Arithmetic::bf16}));
  EXPECT_TRUE(same_bits(got.query, params.w_q.backward_input(d_q).value()));
  EXPECT_TRUE(
      same_bits(got.w_q.weight,
                params.w_q.backward_params(call.query, d_q).value().weight));
  EXPECT_TRUE(same_bits(
      got.w_o->weight,
      params.w_o->backward_params(context, call.d_output).value().weight));
}

std::vector<float> params_of(const MultiHeadAttentionParamGradients& of) {
  std::vector<float> numbers;
  of.for_each([&](std::string_view, std::span<const float> gradient) {
    numbers.insert(numbers.end(), gradient.begin(), gradient.end());
  });
  return numbers;
}

// Padded or ragged, on any number of threads.
TEST(Bf16LayerTest, PackingAndThreadsChangeNoGradient) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    const MultiHeadAttention layer = layer_of(config);
    const std::size_t E = config.embed_dim;
    const LayerCall ragged = random_layer_call(layer, 1, 161, 161, 4208);
    const std::size_t out = ragged.d_output.extent(2);
    const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 131, 161});
    LayerCall padded = {
        filled<float, 3>({2, 140, E}, 0), filled<float, 3>({2, 140, E}, 0),
        filled<float, 3>({2, 140, E}, 0), filled<float, 3>({2, 140, out}, 0)};
    const std::array<std::size_t, 3> begin = {0, 131, 161};
    for (std::size_t b = 0; b < 2; ++b) {
      const std::size_t count = begin[b + 1] - begin[b];
      for (const auto member : {&LayerCall::query, &LayerCall::key,
                                &LayerCall::value, &LayerCall::d_output}) {
        const Tensor<float, 3>& from = ragged.*member;
        std::copy_n(&from(0, begin[b], 0), count * from.extent(2),
                    &(padded.*member)(b, 0, 0));
      }
    }
    const auto want = params_of(gradients_of(
        layer, ragged, {.offsets = {offsets.view(), offsets.view()}}));
    const std::vector<std::int64_t> lengths = {131, 30};
    for (const std::size_t threads : {1u, 3u}) {
      const Executor executor = Executor::with_threads(threads).value();
      const auto got = params_of(
          gradients_of(layer, padded,
                       {.mask = key_lengths(lengths), .executor = &executor}));
      EXPECT_TRUE(same_bits(std::span(got), std::span(want)))
          << threads << " threads";
    }
  }
}

TEST(Bf16LayerTest, AnUpdateChangesTheFloat32ParametersAndThePairs) {
  MultiHeadAttention layer = layer_of(configs()[0]);
  MultiHeadAttention other = layer_of(exact(configs()[0]));
  const auto x = uniform<3>({1, 5, 24}, 4209);
  const auto before = forward_of(layer, x).output;
  for (MultiHeadAttention* const each : {&layer, &other}) {
    ASSERT_TRUE(each->update([](std::string_view, std::span<float> values) {
      for (float& value : values) {
        value = value * 1.25f + 0x1p-20f;
      }
      return ok();
    }));
  }
  EXPECT_TRUE(same_params(layer, other));
  ASSERT_TRUE(other.set_arithmetic(Arithmetic::bf16));
  const auto after = forward_of(layer, x).output;
  EXPECT_FALSE(same_bits(after, before));
  EXPECT_TRUE(same_bits(after, forward_of(other, x).output));
}

TEST(Bf16LayerTest, ATraceIsRefused) {
  const MultiHeadAttention layer = layer_of(configs()[0]);
  const auto x = uniform<3>({1, 5, 24}, 4205);
  RecordedTrace trace;
  EXPECT_THAT(layer.forward(x.view(), x.view(), x.view(), {}, {}, &trace),
              HasError({.code = ErrorCode::unsupported,
                        .argument = "arithmetic",
                        .expected = {"exact with a trace"}}));
}

TEST(Bf16LayerTest, BackInFloat32NothingIsRounded) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    MultiHeadAttention layer = layer_of(config);
    const auto x = uniform<3>({1, 5, config.embed_dim}, 4210);
    ASSERT_TRUE(layer.set_arithmetic(Arithmetic::exact));
    EXPECT_EQ(layer.config().arithmetic, Arithmetic::exact);
    EXPECT_TRUE(same_bits(forward_of(layer, x).output,
                          forward_of(layer_of(exact(config)), x).output));
  }
}

TEST(Bf16LayerTest, RoundedParametersAloneStayRounded) {
  const auto linear = [] {
    return Linear::create({8, 8}, RandomStream(Seed{7}, 1))
        .value()
        .in_bf16()
        .value()
        .for_inference();
  };
  auto layer = MultiHeadAttention::from_params(
                   {linear(), linear(), linear(), linear()}, 2)
                   .value();
  EXPECT_THAT(layer.set_arithmetic(Arithmetic::exact),
              IsError(ErrorCode::invalid_argument, "arithmetic"));
  EXPECT_TRUE(layer.set_arithmetic(Arithmetic::bf16));
}

TEST(Bf16LayerTest, ChunksOverACacheHaveTheBitsOfOneCall) {
  const MultiHeadAttention layer = layer_of(configs()[1]);
  const auto x = uniform<3>({1, 150, 21}, 4211);
  const auto want = forward_of(layer, x, {.mask = causal()}).output;
  for (const std::size_t chunk : {1u, 40u}) {
    KvCache cache = KvCache::create({.num_kv_heads = 1,
                                     .head_dim = 7,
                                     .max_tokens = 256,
                                     .max_sequences = 1})
                        .value();
    const std::vector<SequenceId> ids = {cache.add().value()};
    for (std::size_t n = 0; n < 150; n += chunk) {
      const std::size_t count = std::min<std::size_t>(chunk, 150 - n);
      const TensorView<const float, 3> part(&x(0, n, 0), {1, count, 21});
      const auto got = layer
                           .forward(part, part, part, {.mask = causal()},
                                    {.cache = &cache, .sequences = ids})
                           .value();
      EXPECT_TRUE(
          same_bits(got.output.elements(), {&want(0, n, 0), count * 21}));
    }
  }
}

TEST(Bf16LayerTest, ACallInBf16NeedsALayerInBf16) {
  const auto x = uniform<3>({1, 5, 24}, 4206);
  const AttentionOptions options = {.arithmetic = Arithmetic::bf16};
  EXPECT_THAT(layer_of(exact(configs()[0]))
                  .forward(x.view(), x.view(), x.view(), options),
              IsError(ErrorCode::invalid_argument, "arithmetic"));
  const MultiHeadAttention layer = layer_of(configs()[0]);
  EXPECT_TRUE(same_bits(forward_of(layer, x, options).output,
                        forward_of(layer, x).output));
}

TEST(Bf16LayerTest, ProjectionsOfOneLayerHaveOneArithmetic) {
  const auto linear = [] {
    return Linear::create({8, 8}, RandomStream(Seed{7}, 1)).value();
  };
  const auto rounded = [&] { return linear().in_bf16().value(); };
  EXPECT_THAT(MultiHeadAttention::from_params(
                  {rounded(), rounded(), linear(), rounded()}, 2),
              IsError(ErrorCode::invalid_argument, "w_v"));
  const auto layer = MultiHeadAttention::from_params(
      {rounded(), rounded(), rounded(), rounded()}, 2);
  EXPECT_EQ(layer.value().config().arithmetic, Arithmetic::bf16);
}

}  // namespace
}  // namespace headwise::testing_support
