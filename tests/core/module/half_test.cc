// A layer whose inputs are of 16 bits gives what it gives of the same numbers
// as floats, each element of the output and of the inputs' gradients rounded
// once.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/module/multi_head_attention.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "support/errors.h"
#include "support/half_tensors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

std::vector<MultiHeadAttentionConfig> configs() {
  return {{.embed_dim = 24, .num_heads = 4},
          {.embed_dim = 24,
           .num_heads = 4,
           .num_kv_heads = 2,
           .bias = false,
           .query_dim = 17,
           .kdim = 9,
           .vdim = 33},
          {.embed_dim = 24, .num_heads = 3, .value_proj = false},
          {.embed_dim = 16, .num_heads = 2, .scoring = Scoring::additive},
          {.embed_dim = 24,
           .num_heads = 3,
           .qk_norm = QkNorm{},
           .rotary = Rotary::create({.rotary_dim = 6, .base = 100}).value()}};
}

template <class T>
struct HalfCall {
  explicit HalfCall(const LayerCall& call)
      : query(narrowed_to<T>(call.query)),
        key(narrowed_to<T>(call.key)),
        value(narrowed_to<T>(call.value)),
        d_output(narrowed_to<T>(call.d_output)) {}

  LayerCall widened() const {
    return {widened_to_float(query), widened_to_float(key),
            widened_to_float(value), widened_to_float(d_output)};
  }

  Tensor<T, 3> query;
  Tensor<T, 3> key;
  Tensor<T, 3> value;
  Tensor<T, 3> d_output;
};

template <class T>
void expect_forward_rounded_once(const MultiHeadAttention& layer) {
  const HalfCall<T> half(random_layer_call(layer, 2, 5, 7, 4200));
  const LayerCall call = half.widened();
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::per_head};
  const auto got =
      layer.forward(half.query, half.key, half.value, options).value();
  const auto want =
      layer.forward(call.query, call.key, call.value, options).value();
  EXPECT_TRUE(
      same_bits(widened_to_float(got.output), rounded_to<T>(want.output)));
  EXPECT_TRUE(same_bits(got.attn_weights, want.attn_weights));
  EXPECT_TRUE(same_bits(got.lse, want.lse));

  auto into = Tensor<T, 3>::create(got.output.extents()).value();
  ASSERT_TRUE(layer.forward_into(half.query, half.key, half.value, into,
                                 {.mask = causal()}));
  EXPECT_TRUE(same_bits(widened_to_float(into), widened_to_float(got.output)));
}

template <class T>
void expect_backward_rounded_once(const MultiHeadAttention& layer) {
  const HalfCall<T> half(random_layer_call(layer, 2, 5, 7, 4210));
  const AttentionOptions options = {.mask = causal()};
  auto saved =
      layer.forward_for_backward(half.query, half.key, half.value, options)
          .value();
  const auto got = layer.backward(saved, half.d_output).value();
  const auto want = gradients_of(layer, half.widened(), options);
  EXPECT_TRUE(
      same_bits(widened_to_float(got.query), rounded_to<T>(want.query)));
  EXPECT_TRUE(same_bits(widened_to_float(got.key), rounded_to<T>(want.key)));
  EXPECT_TRUE(
      same_bits(widened_to_float(got.value), rounded_to<T>(want.value)));
  std::vector<std::pair<std::string, std::vector<float>>> named[2];
  const MultiHeadAttentionParamGradients* const both[] = {&got, &want};
  for (const std::size_t n : {0u, 1u}) {
    both[n]->for_each(
        [&](std::string_view name, std::span<const float> gradient) {
          named[n].emplace_back(
              name, std::vector<float>(gradient.begin(), gradient.end()));
        });
  }
  EXPECT_EQ(named[0], named[1]);
}

TEST(HalfLayerTest, OutputsAreThoseOfFloatsRoundedOnce) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    expect_forward_rounded_once<BFloat16>(layer_of(config));
    expect_forward_rounded_once<Float16>(layer_of(config));
  }
}

TEST(HalfLayerTest, GradientsAreThoseOfFloatsRoundedOnce) {
  for (const MultiHeadAttentionConfig& config : configs()) {
    expect_backward_rounded_once<BFloat16>(layer_of(config));
    expect_backward_rounded_once<Float16>(layer_of(config));
  }
}

// Its output is the context itself, so Delta uses the rounded one.
TEST(HalfLayerTest, ALayerWithoutAnOutputProjectionHasGradientsNearby) {
  const MultiHeadAttention layer =
      layer_of({.embed_dim = 24, .num_heads = 4, .out_proj = false});
  const HalfCall<BFloat16> half(random_layer_call(layer, 2, 5, 7, 4220));
  auto saved =
      layer.forward_for_backward(half.query, half.key, half.value).value();
  const auto got = layer.backward(saved, half.d_output).value();
  const auto want = gradients_of(layer, half.widened(), {});
  EXPECT_TRUE(all_near(widened_to_float(got.query), want.query, 1e-3, 0x1p-7));
  EXPECT_TRUE(all_near(widened_to_float(got.value), want.value, 1e-3, 0x1p-7));
}

TEST(HalfLayerTest, OneTensorIsWidenedOnceWithTheSameBits) {
  const MultiHeadAttention layer = layer_of({.embed_dim = 24, .num_heads = 4});
  const auto x = narrowed_to<BFloat16>(uniform<2>({6, 24}, 4230));
  const auto copy = clone(x);
  const auto got = layer.forward(x, x, x).value();
  const auto want = layer.forward(x, copy, x).value();
  EXPECT_TRUE(
      same_bits(widened_to_float(got.output), widened_to_float(want.output)));
}

TEST(HalfLayerTest, ParametersOfSixteenBitsAreWidened) {
  const auto weight = uniform<2>({5, 7}, 4240);
  const auto bias = uniform<1>({5}, 4241);
  const auto x = uniform<3>({1, 3, 7}, 4242);
  const auto half_weight = narrowed_to<Float16>(weight);
  const auto half_bias = narrowed_to<Float16>(bias);
  const Linear got = Linear::from_params(half_weight, half_bias).value();
  const Linear want = Linear::from_params(rounded_to<Float16>(weight),
                                          rounded_to<Float16>(bias))
                          .value();
  EXPECT_TRUE(same_params(got, want));
  EXPECT_TRUE(same_bits(got.forward(x).value(), want.forward(x).value()));
}

TEST(HalfLayerTest, ErrorsAreThoseOfFloats) {
  const MultiHeadAttention layer = layer_of({.embed_dim = 24, .num_heads = 4});
  const auto x = narrowed_to<BFloat16>(uniform<3>({1, 3, 24}, 4250));
  const auto wide = narrowed_to<BFloat16>(uniform<3>({1, 3, 25}, 4251));
  EXPECT_THAT(layer.forward(x, wide, x),
              IsError(ErrorCode::shape_mismatch, "key"));
  auto output = narrowed_to<BFloat16>(filled<float, 3>({1, 3, 23}, 42));
  EXPECT_THAT(layer.forward_into(x, x, x, output),
              IsError(ErrorCode::shape_mismatch, "output"));
  auto saved = layer.forward_for_backward(x, x, x).value();
  EXPECT_THAT(layer.backward(saved, wide),
              IsError(ErrorCode::shape_mismatch, "d_output"));
  EXPECT_TRUE(layer.backward(saved, x));
  EXPECT_THAT(layer.backward(saved, x),
              IsError(ErrorCode::invalid_argument, "saved"));
}

}  // namespace
}  // namespace headwise::testing_support
