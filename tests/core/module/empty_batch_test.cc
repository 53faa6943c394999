// A batch without tokens may have any number of sequences, more than anybody
// could visit.
#include <gtest/gtest.h>

#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/stepwise.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/heads.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kMany = std::size_t{1} << 60;

float memory[64];
bool true_or_false[1];

template <std::size_t Rank>
TensorView<float, Rank> many(const Extents<Rank>& extents) {
  return {memory, extents};
}

struct OptionsCase {
  AttentionOptions options;
  OperationOptions operation_options{};
};

std::vector<OptionsCase> every_option() {
  static const TensorView<const bool, 2> padding(true_or_false, {kMany, 0});
  static const TensorView<const std::int64_t, 2> ids(nullptr, {kMany, 0});
  static const auto slopes = filled<float, 1>({2}, 1);
  static const auto table = filled<float, 2>({4, 2}, 1);
  static const auto weight = filled<float, 2>({2, 3}, 1);
  static const TensorView<const float, 4> bias(memory, {kMany, 2, 0, 0});
  return {{{}},
          {{.mask = causal() & key_padding(padding) & documents(ids, ids) &
                    key_lengths(ids),
            .softcap = 2.0,
            .bias = dense(bias, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}),
            .t5_bias = {.table = table},
            .alibi = slopes,
            .empty_rows = EmptyRow::uniform,
            .dropout = {.p = 0.5, .training = true, .step = 1}}},
          {{.attn_weights = AttnWeights::per_head}, {.score_weight = weight}},
          {{.attn_weights = AttnWeights::mean}}};
}

TEST(EmptyBatchTest, AttentionOfAnyNumberOfSequencesIsNothing) {
  const auto x = many<4>({kMany, 0, 2, 3});
  const auto rows = many<4>({kMany, 2, 0, 2});
  for (const auto& [options, operation_options] : every_option()) {
    const std::size_t heads = options.attn_weights == AttnWeights::mean ? 1 : 2;
    const AttentionOutputs outputs = {x, many<4>({kMany, heads, 0, 0}),
                                      many<3>({kMany, 2, 0}), rows};
    const Status s = attention(x, x, x, outputs, options, operation_options);
    EXPECT_TRUE(s) << s.error().message();
    EXPECT_TRUE(reference_attention<float>(x, x, x, outputs, options,
                                           operation_options));
    EXPECT_TRUE(stepwise_attention(x, x, x, options, operation_options));
  }
  const auto statistics =
      attention_statistics(x, x, x, {x}, {},
                           {.statistics = {.rows = true, .columns = true}})
          .value();
  EXPECT_EQ(statistics.pooled.rows(1), 0);
}

TEST(EmptyBatchTest, GradientsOfAnyNumberOfSequencesAreZero) {
  const auto x = many<4>({kMany, 0, 2, 3});
  const BackwardInputs inputs = {x, x, x, x, many<4>({kMany, 2, 0, 2}), x};
  for (const auto& [options, operation_options] : every_option()) {
    auto d_table = filled<float, 2>({4, 2}, 42);
    auto d_alibi = filled<float, 1>({2}, 42);
    auto d_weight = filled<float, 2>({2, 3}, 42);
    AttentionGradients wanted = {x, x, x};
    if (options.bias.given()) {
      wanted.bias = many<4>({kMany, 2, 0, 0});
      wanted.t5_bias = d_table;
      wanted.alibi = d_alibi;
    }
    const bool additive = operation_options.score_weight.data() != nullptr;
    if (additive) {
      wanted.score_weight = d_weight;
    }
    const Status s =
        attention_backward(inputs, wanted, options, operation_options);
    EXPECT_TRUE(s) << s.error().message();
    EXPECT_EQ(d_table(3, 1), options.bias.given() ? 0 : 42);
    EXPECT_EQ(d_alibi(1), options.bias.given() ? 0 : 42);
    EXPECT_EQ(d_weight(1, 2), additive ? 0 : 42);
    EXPECT_TRUE(reference_attention_backward<float>(inputs, wanted, options,
                                                    operation_options));
  }
}

TEST(EmptyBatchTest, AStepOfAnyNumberOfSequencesIsNothing) {
  const Embedding embedding =
      Embedding::create({.vocab_size = 5, .embed_dim = 4}, Seed{1}).value();
  const TensorView<const TokenId, 2> ids(nullptr, {kMany, 0});
  EXPECT_EQ(embedding.forward(ids).value().extent(0), kMany);
  EXPECT_TRUE(embedding.backward(ids, many<3>({kMany, 0, 4})));
  const Linear linear = Linear::create({.in_features = 4, .out_features = 3},
                                       RandomStream(Seed{1}, 1))
                            .value();
  const auto x = many<3>({kMany, 0, 4});
  const auto y = many<3>({kMany, 0, 3});
  EXPECT_TRUE(linear.forward(x));
  EXPECT_TRUE(linear.backward_input(y));
  EXPECT_TRUE(linear.backward_params(x, y));
  const Linear from_nothing =
      Linear::from_params(Tensor<float, 2>::create({3, 0}).value()).value();
  EXPECT_TRUE(from_nothing.forward(many<3>({kMany, 0, 0})));
  const auto gates = filled<float, 1>({2}, 1);
  const auto heads = many<4>({kMany, 3, 2, 0});
  EXPECT_TRUE(gate_heads(heads, gates, heads));
  EXPECT_TRUE(
      average_heads(many<4>({kMany, 2, 0, 3}), many<4>({kMany, 1, 0, 3})));
}

TEST(EmptyBatchTest, ALayerOfAnyNumberOfSequencesIsNothing) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 4, .num_heads = 2}, Seed{1})
          .value();
  const auto x = many<3>({kMany, 0, 4});
  const TensorView<const std::int64_t, 2> none(nullptr, {kMany, 0});
  const AttentionOptions options = {.mask = key_lengths(none)};
  EXPECT_EQ(layer.forward(x, x, x, options).value().output.extent(0), kMany);
  EXPECT_TRUE(layer.forward_into(x, x, x, many<3>({kMany, 0, 4}), options));
  auto saved = layer.forward_for_backward(x, x, x, options).value();
  const auto gradients = layer.backward(saved, x).value();
  EXPECT_EQ(gradients.w_q.weight(3, 3), 0);
}

}  // namespace
}  // namespace headwise::testing_support
