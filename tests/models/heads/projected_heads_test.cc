#include "headwise/heads/projected_heads.h"

#include <gtest/gtest.h>

#include <array>

#include "headwise/attention/forward.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

MultiHeadAttention layer_with(bool norm, bool rotary) {
  MultiHeadAttentionConfig config{
      .embed_dim = 32, .num_heads = 4, .num_kv_heads = 2};
  if (norm) {
    config.qk_norm = QkNorm{};
  }
  if (rotary) {
    config.rotary = Rotary::create({.rotary_dim = 8}).value();
  }
  return MultiHeadAttention::create(config, Seed{3}).value();
}

// The attention weights of these queries and keys are those of the layer, bit
// by bit, for each of several sequences.
void expect_those_of_the_layer(const MultiHeadAttention& layer) {
  const std::array<std::size_t, 3> lengths = {5, 1, 60};
  const auto hidden = uniform<3>({1, 66, 32}, 5);
  const Executor& executor = Executor::default_executor();
  const ProjectedHeads heads =
      ProjectedHeads::of(layer, hidden, executor, lengths).value();
  std::size_t first = 0;
  for (const std::size_t count : lengths) {
    const TensorView<const float, 3> rows(&hidden(0, first, 0), {1, count, 32});
    AttentionOptions options;
    options.attn_weights = AttnWeights::per_head;
    const auto expected = layer.forward(rows, rows, rows, options).value();
    auto output = Tensor<float, 4>::create({1, count, 4, 8}).value();
    auto weights = Tensor<float, 4>::create({1, 4, count, count}).value();
    ASSERT_TRUE(attention(heads.query(first, count), heads.key(first, count),
                          heads.key(first, count),
                          {.output = output, .attn_weights = weights},
                          options));
    EXPECT_TRUE(std::ranges::equal(weights.elements(),
                                   expected.attn_weights.elements()))
        << count << " tokens";
    first += count;
  }
}

TEST(ProjectedHeadsTest, AreThoseOfTheLayer) {
  expect_those_of_the_layer(layer_with(false, false));
}
TEST(ProjectedHeadsTest, AreNormalised) {
  expect_those_of_the_layer(layer_with(true, false));
}
TEST(ProjectedHeadsTest, AreRotatedFromTheBeginningOfTheirSequence) {
  expect_those_of_the_layer(layer_with(false, true));
  expect_those_of_the_layer(layer_with(true, true));
}

}  // namespace
}  // namespace headwise::testing_support
