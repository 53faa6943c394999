// Rotary positions in the layer: the heads it compares are those of the step,
// and its gradients are those of what it computes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/forward.h"
#include "module/layer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using testing::Contains;

Rotary rotary_of(std::size_t dim, RotaryLayout layout = RotaryLayout::halves) {
  return Rotary::create({.rotary_dim = dim, .base = 100, .layout = layout})
      .value();
}

// Rotated queries and keys of a layer that has no output projection, attended
// to by the operation.
Tensor<float, 4> step_by_step(const Rotary& rotary,
                              const MultiHeadAttention& plain,
                              const Tensor<float, 3>& x,
                              const Tensor<float, 3>& memory,
                              const AttentionOptions& options,
                              const RotaryPositions& queries,
                              const RotaryPositions& keys) {
  const MultiHeadAttentionConfig& config = plain.config();
  const auto project = [&](const Linear& linear, const Tensor<float, 3>& from,
                           std::size_t heads) {
    const auto y = linear.forward(from.view(), "x").value();
    auto split = Tensor<float, 4>::create({from.extent(0), from.extent(1),
                                           heads, y.extent(2) / heads})
                     .value();
    std::ranges::copy(y.elements(), split.data());
    return split;
  };
  auto q = project(plain.params()->w_q, x, config.num_heads);
  auto k = project(plain.params()->w_k, memory, *config.num_kv_heads);
  const auto v = project(*plain.params()->w_v, memory, *config.num_kv_heads);
  EXPECT_TRUE(rotary.rotate(q, q, queries));
  EXPECT_TRUE(rotary.rotate(k, k, keys));
  auto out = filled<float, 4>(q.extents(), -7);
  EXPECT_TRUE(attention(q, k, v, out, options));
  return out;
}

TEST(RotaryLayerTest, ComparesRotatedHeads) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    const Rotary rotary = rotary_of(6, layout);
    auto layer = layer_of({.embed_dim = 32,
                           .num_heads = 4,
                           .num_kv_heads = 2,
                           .out_proj = false});
    const auto x = uniform<3>({2, 5, 32}, 201);
    const auto memory = uniform<3>({2, 9, 32}, 202);
    const AttentionOptions options = {.mask = causal(), .query_start = 4};
    const auto expected =
        step_by_step(rotary, layer, x, memory, options, {.start = 4}, {});
    const auto without = layer.forward(x, memory, memory, options).value();
    ASSERT_TRUE(layer.set_rotary(rotary));
    const auto result = layer.forward(x, memory, memory, options).value();
    EXPECT_TRUE(same_bits({result.output.data(), result.output.size()},
                          {expected.data(), expected.size()}));
    EXPECT_FALSE(same_bits(result.output, without.output));
    ASSERT_TRUE(layer.set_rotary({}));
    EXPECT_TRUE(
        same_bits(layer.forward(x, memory, memory, options).value().output,
                  without.output));
  }
}

TEST(RotaryLayerTest, PositionsMoveTheRotationAlone) {
  const Rotary rotary = rotary_of(8);
  const auto layer = layer_of(
      {.embed_dim = 16, .num_heads = 2, .out_proj = false, .rotary = rotary});
  const auto x = uniform<3>({2, 3, 16}, 203);
  const auto queries = tensor_of<std::int64_t, 2>({2, 3}, {7, 7, 0, 1, 2, 90});
  const auto keys = tensor_of<std::int64_t, 2>({2, 3}, {5, 0, 1, 3, 3, 1000});
  const AttentionOptions options = {.mask = causal()};
  const auto expected =
      step_by_step(rotary, layer, x, x, options, {.positions = queries},
                   {.positions = keys});
  const auto result = forward_of(
      layer, x, options,
      {.positions = {.query_positions = queries, .key_positions = keys}});
  EXPECT_TRUE(same_bits({result.output.data(), result.output.size()},
                        {expected.data(), expected.size()}));
}

TEST(RotaryLayerTest, StartsBySequenceArePositions) {
  const auto layer =
      layer_of({.embed_dim = 16, .num_heads = 2, .rotary = rotary_of(8)});
  const auto x = uniform<3>({2, 3, 16}, 204);
  const std::vector<std::int64_t> starts = {4, 0};
  const auto both = forward_of(layer, x, {.query_start = starts});
  const auto positions = tensor_of<std::int64_t, 2>({2, 3}, {4, 5, 6, 0, 1, 2});
  EXPECT_TRUE(same_bits(
      both.output,
      forward_of(layer, x, {}, {.positions = {.query_positions = positions}})
          .output));
}

TEST(RotaryLayerTest, ARaggedBatchHasTheBitsOfThePaddedOne) {
  const auto layer =
      layer_of({.embed_dim = 16, .num_heads = 2, .rotary = rotary_of(8)});
  const auto padded = uniform<3>({2, 5, 16}, 205);
  auto ragged = filled<float, 3>({1, 8, 16}, 0);
  std::copy_n(padded.data(), 3 * 16, ragged.data());
  std::copy_n(&padded(1, 0, 0), 5 * 16, &ragged(0, 3, 0));
  const std::vector<std::int64_t> offsets = {0, 3, 8};
  const std::vector<std::int64_t> lengths = {3, 5};
  const auto of_padded =
      forward_of(layer, padded, {.mask = key_lengths(lengths) & causal()});
  const auto of_ragged =
      forward_of(layer, ragged, {.mask = causal(), .offsets = offsets});
  EXPECT_TRUE(same_bits({of_ragged.output.data(), 3 * 16},
                        {of_padded.output.data(), 3 * 16}));
  EXPECT_TRUE(same_bits({&of_ragged.output(0, 3, 0), 5 * 16},
                        {&of_padded.output(1, 0, 0), 5 * 16}));
}

TEST(RotaryLayerTest, ATraceShowsTheRotation) {
  const auto layer =
      layer_of({.embed_dim = 16, .num_heads = 2, .rotary = rotary_of(8)});
  const auto x = uniform<3>({1, 3, 16}, 206);
  RecordedTrace trace;
  forward_of(layer, x, {}, {}, &trace);
  const auto names = trace.names();
  EXPECT_THAT(names, Contains("q_rotated"));
  EXPECT_THAT(names, Contains("k_rotated"));
  const auto* heads = trace.find("q_heads");
  const auto* rotated = trace.find("q_rotated");
  ASSERT_NE(heads, nullptr);
  ASSERT_NE(rotated, nullptr);
  EXPECT_EQ(rotated->axes, heads->axes);
  EXPECT_TRUE(std::equal(heads->elements.begin(), heads->elements.begin() + 8,
                         rotated->elements.begin()));  // position 0
  EXPECT_NE(heads->elements, rotated->elements);
}

// The derivative of sum(output * d_output) by inputs and parameters.
TEST(RotaryLayerTest, GradientsAreNearTheDifferences) {
  auto layer = layer_of({.embed_dim = 12,
                         .num_heads = 2,
                         .rotary = rotary_of(4, RotaryLayout::interleaved)});
  auto x = uniform<3>({2, 4, 12}, 207);
  const auto d_output = uniform<3>({2, 4, 12}, 208);
  const auto positions =
      tensor_of<std::int64_t, 2>({2, 4}, {0, 3, 5, 9, 2, 2, 70, 1});
  const AttentionOptions options = {.mask = causal(), .query_start = 1};
  const LayerOptions at = {.positions = {.key_positions = positions}};
  const auto loss = [&] {
    const auto out = forward_of(layer, x, options, at).output;
    double sum = 0;
    for (std::size_t n = 0; n < out.size(); ++n) {
      sum += double{out.data()[n]} * double{d_output.data()[n]};
    }
    return sum;
  };
  auto saved = layer.forward_for_backward(x, x, x, options, at).value();
  const auto gradients = layer.backward(saved, d_output).value();
  constexpr float kStep = 1.0f / 64;
  for (std::size_t n = 0; n < x.size(); n += 5) {
    x.data()[n] += kStep;
    const double above = loss();
    x.data()[n] -= 2 * kStep;
    const double below = loss();
    x.data()[n] += kStep;
    EXPECT_NEAR(gradients.query.data()[n] + gradients.key.data()[n] +
                    gradients.value.data()[n],
                (above - below) / (2 * kStep), 5e-4)
        << n;
  }
  for (const auto& [name, gradient] :
       {std::pair<std::string, std::span<const float>>{
            "w_q.weight", gradients.w_q.weight.elements()},
        {"w_k.weight", gradients.w_k.weight.elements()}}) {
    for (std::size_t n = 0; n < gradient.size(); n += 7) {
      const auto change = [&, name = name](float by) {
        EXPECT_TRUE(
            layer.update([&](std::string_view shown, std::span<float> values) {
              values[n % values.size()] += shown == name ? by : 0;
              return ok();
            }));
      };
      change(kStep);
      const double above = loss();
      change(-2 * kStep);
      const double below = loss();
      change(kStep);
      EXPECT_NEAR(gradient[n], (above - below) / (2 * kStep), 5e-4)
          << name << " " << n;
    }
  }
}

TEST(RotaryLayerTest, ACallMayBringItsOwn) {
  const Rotary own = rotary_of(8);
  const Rotary other =
      Rotary::create({.rotary_dim = 8, .base = 100, .scaling = NtkScaling{3}})
          .value();
  const auto layer = layer_of({.embed_dim = 16, .num_heads = 2, .rotary = own});
  auto with_other =
      layer_of({.embed_dim = 16, .num_heads = 2, .rotary = other});
  const auto x = uniform<3>({1, 5, 16}, 211);
  const LayerOptions brought{.rotary = &other};
  EXPECT_TRUE(same_bits(forward_of(layer, x, {}, brought).output,
                        forward_of(with_other, x).output));
  EXPECT_FALSE(same_bits(forward_of(layer, x, {}, brought).output,
                         forward_of(layer, x).output));
  auto saved = layer.forward_for_backward(x, x, x, {}, brought).value();
  auto expected = with_other.forward_for_backward(x, x, x).value();
  EXPECT_TRUE(same_bits(layer.backward(saved, x).value().w_q.weight,
                        with_other.backward(expected, x).value().w_q.weight));
}

TEST(RotaryLayerTest, APassBeforeAnotherRotationIsRefused) {
  auto layer = layer_of({.embed_dim = 16, .num_heads = 2});
  const auto x = uniform<3>({1, 3, 16}, 209);
  auto saved = layer.forward_for_backward(x, x, x).value();
  ASSERT_TRUE(layer.set_rotary(rotary_of(8)));
  EXPECT_THAT(layer.backward(saved, x),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "multi_head_attention",
                        .argument = "saved"}));
}

TEST(RotaryLayerTest, ErrorsNameTheArgument) {
  const auto too_large = HasError({.code = ErrorCode::invalid_argument,
                                   .operation = "multi_head_attention",
                                   .argument = "rotary.rotary_dim",
                                   .given = {"10"},
                                   .expected = {"8"}});
  EXPECT_THAT(
      MultiHeadAttention::create(
          {.embed_dim = 16, .num_heads = 2, .rotary = rotary_of(10)}, Seed{1}),
      too_large);
  auto layer = layer_of({.embed_dim = 16, .num_heads = 2});
  EXPECT_THAT(layer.set_rotary(rotary_of(10)), too_large);
  const auto x = uniform<3>({2, 3, 16}, 210);
  auto positions = filled<std::int64_t, 2>({2, 3}, 0);
  const auto refused = [&](const HeadPositions& at) {
    return layer.forward(x, x, x, {}, {.positions = at});
  };
  EXPECT_THAT(refused({.query_positions = positions}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "multi_head_attention",
                        .argument = "query_positions",
                        .expected = {"rotary"}}));
  const Rotary other = rotary_of(8);
  EXPECT_THAT(layer.forward(x, x, x, {}, {.rotary = &other}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "multi_head_attention",
                        .argument = "rotary",
                        .expected = {"rotary"}}));
  ASSERT_TRUE(layer.set_rotary(rotary_of(8)));
  const Rotary large = rotary_of(10);
  EXPECT_THAT(layer.forward(x, x, x, {}, {.rotary = &large}), too_large);
  positions(1, 2) = -5;
  EXPECT_THAT(refused({.key_positions = positions}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "rotary",
                        .argument = "key_positions[1][2]",
                        .given = {"-5"}}));
  const auto short_ones = filled<std::int64_t, 2>({2, 2}, 0);
  EXPECT_THAT(refused({.query_positions = short_ones}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "query_positions",
                        .given = {"(2, 2)"},
                        .expected = {"(2, 3)"}}));
  EXPECT_THAT(layer.forward(x, x, x, {.query_start = -1}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "rotary",
                        .argument = "query_start",
                        .given = {"-1"}}));
}

}  // namespace
}  // namespace headwise::testing_support
