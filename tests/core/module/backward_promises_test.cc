// What the backward pass of the layer promises besides its numbers: bits,
// padding, saved states, updates and gradients by name.

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/module/multi_head_attention.h"
#include "headwise/module/optimizer.h"
#include "module/random_layer_call.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(LayerBackwardTest, UsesTheDropoutOfTheLayer) {
  const auto layer =
      MultiHeadAttention::create(
          {.embed_dim = 12, .num_heads = 3, .dropout = 0.4}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 2, 6, 9, 4200);
  const auto with = [&](const Dropout& dropout) {
    return gradients_of(layer, call, {.dropout = dropout}).query;
  };
  const auto own = with({.training = true, .step = 1});
  EXPECT_TRUE(same_bits(own, with({.p = 0.4, .training = true, .step = 1})));
  EXPECT_FALSE(same_bits(own, with({.training = true, .step = 2})));
  EXPECT_FALSE(same_bits(own, with({.p = 0.0})));
}

TEST(LayerBackwardTest, MustBeToldToDrop) {
  const auto layer =
      MultiHeadAttention::create(
          {.embed_dim = 12, .num_heads = 3, .dropout = 0.4}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 2, 6, 9, 4200);
  const auto error_of = [&](const Dropout& dropout) {
    return layer
        .forward_for_backward(call.query, call.key, call.value,
                              {.dropout = dropout})
        .error()
        .message();
  };
  for (const Dropout& off : {Dropout{}, Dropout{.p = 0.1, .step = 1}}) {
    EXPECT_THAT(error_of(off),
                HasSubstr("dropout.training is false, expected true, or "
                          "dropout.p = 0"));
  }
  EXPECT_THAT(error_of({.training = true}),
              HasSubstr("dropout.step is not given, expected the number of the "
                        "training step"));
}

bool same(const LinearGradients& a, const LinearGradients& b) {
  return same_bits(a.weight, b.weight) && same_bits(a.bias, b.bias);
}

TEST(LayerBackwardTest, HasTheSameBitsForAnyNumberOfThreads) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 64, .num_heads = 4}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 3, 140, 140, 4300);
  const auto with = [&](std::size_t threads) {
    const auto executor = Executor::with_threads(threads).value();
    return gradients_of(layer, call, {.mask = causal(), .executor = &executor});
  };
  const auto one = with(1);
  for (const std::size_t threads : {2u, 3u, 7u}) {
    const auto many = with(threads);
    EXPECT_TRUE(same_bits(many.query, one.query));
    EXPECT_TRUE(same_bits(many.key, one.key));
    EXPECT_TRUE(same_bits(many.value, one.value));
    EXPECT_TRUE(same(many.w_q, one.w_q) && same(many.w_k, one.w_k) &&
                same(many.w_v, one.w_v) && same(*many.w_o, *one.w_o));
  }
}

// Rows [0, lengths[b]) of each sequence, behind each other.
Tensor<float, 3> without_padding(const Tensor<float, 3>& padded,
                                 const std::vector<std::int64_t>& lengths) {
  const auto [B, L, E] = padded.extents();
  std::vector<float> rows;
  for (std::size_t b = 0; b < B; ++b) {
    const float* from = &padded(b, 0, 0);
    rows.insert(rows.end(), from,
                from + static_cast<std::size_t>(lengths[b]) * E);
  }
  return tensor_of<float, 3>({1, rows.size() / E, E}, rows);
}

TEST(LayerBackwardTest, GivesAPaddedAndARaggedBatchTheSameParameterGradients) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{3})
          .value();
  const std::vector<std::int64_t> numbers = {150, 3, 131};
  const auto lengths = tensor_of<std::int64_t, 1>({3}, numbers);
  const auto offsets = tensor_of<std::int64_t, 1>({4}, {0, 150, 153, 284});
  LayerCall padded = random_layer_call(layer, 3, 150, 150, 4400);
  for (std::size_t b = 0; b < 3; ++b) {
    for (auto l = static_cast<std::size_t>(numbers[b]); l < 150; ++l) {
      // What padding holds is nothing: its gradient is 0.
      std::fill_n(&padded.d_output(b, l, 0), 24, 0.0f);
      std::fill_n(&padded.key(b, l, 0), 24, kNaN);
      std::fill_n(&padded.value(b, l, 0), 24, kNaN);
    }
  }
  const LayerCall ragged = {without_padding(padded.query, numbers),
                            without_padding(padded.key, numbers),
                            without_padding(padded.value, numbers),
                            without_padding(padded.d_output, numbers)};
  const auto of_padded =
      gradients_of(layer, padded, {.mask = key_lengths(lengths)});
  const auto of_ragged = gradients_of(layer, ragged, {.offsets = offsets});
  EXPECT_TRUE(same(of_padded.w_q, of_ragged.w_q));
  EXPECT_TRUE(same(*of_padded.w_o, *of_ragged.w_o));
  EXPECT_TRUE(same(of_padded.w_k, of_ragged.w_k));
  EXPECT_TRUE(same(of_padded.w_v, of_ragged.w_v));
  EXPECT_TRUE(
      same_bits(without_padding(of_padded.key, numbers), of_ragged.key));
}

TEST(LayerBackwardTest, OfASequenceOfPaddingAloneIsFinite) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 2, 5, 6, 4500);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 6});
  for (const EmptyRow policy : {EmptyRow::zero, EmptyRow::uniform}) {
    const auto got = gradients_of(
        layer, call, {.mask = key_lengths(lengths), .empty_rows = policy});
    for (const auto* tensor : {&got.query, &got.key, &got.value}) {
      for (const float x : tensor->elements()) {
        EXPECT_TRUE(std::isfinite(x));
      }
    }
    for (const auto* linear : {&got.w_q, &got.w_k, &got.w_v, &*got.w_o}) {
      for (const float x : linear->weight.elements()) {
        EXPECT_TRUE(std::isfinite(x));
      }
    }
  }
}

TEST(LayerBackwardTest, ASavedStateIsForOneBackwardPassOfItsLayer) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{3})
          .value();
  const auto other =
      MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 2, 5, 6, 4600);
  const auto save = [&] {
    return layer.forward_for_backward(call.query, call.key, call.value).value();
  };
  const auto message = [&](const MultiHeadAttention& of,
                           MultiHeadAttentionSaved& saved) {
    const auto gradients = of.backward(saved, call.d_output);
    return gradients ? "no error" : gradients.error().message();
  };
  auto saved = save();
  EXPECT_THAT(message(other, saved), HasSubstr("saved is of another"));
  const auto wrong = filled<float, 3>({2, 5, 11}, 1);
  const auto refused = layer.backward(saved, wrong);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused, IsAbout("d_output", "(2, 5, 11)", "(2, 5, 12)"));
  EXPECT_EQ(message(layer, saved), "no error");
  EXPECT_THAT(message(layer, saved), HasSubstr("saved is used already"));
  saved = save();
  ASSERT_TRUE(
      layer.update([](std::string_view, std::span<float>) { return ok(); }));
  EXPECT_THAT(message(layer, saved), HasSubstr("of parameters since changed"));
}

TEST(LayerBackwardTest, UpdateChangesWhatTheNextForwardPassReads) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 4, .num_heads = 1}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 1, 2, 2, 4700);
  std::vector<std::string> names;
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    names.emplace_back(name);
    std::ranges::fill(values, name == "w_o.bias" ? 5.0f : 0.0f);
    return ok();
  }));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "w_q.weight", "w_q.bias", "w_k.weight", "w_k.bias",
                       "w_v.weight", "w_v.bias", "w_o.weight", "w_o.bias"}));
  const auto result = layer.forward(call.query, call.key, call.value).value();
  EXPECT_THAT(result.output.elements(), testing::Each(5.0f));
}

TEST(LayerBackwardTest, AnUpdateThatThrowsLeavesALayerThatCanBeUsed) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 4, .num_heads = 1}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 1, 2, 2, 4710);
  const auto output = [&] {
    return layer.forward(call.query, call.key, call.value).value().output;
  };
  const auto before = output();
  auto saved =
      layer.forward_for_backward(call.query, call.key, call.value).value();
  const auto stops = [&] {
    (void)layer.update([](std::string_view name, std::span<float> values) {
      values[0] = 3;
      if (name == "w_k.weight") {
        throw std::runtime_error("stop");
      }
      return ok();
    });
  };
  EXPECT_THROW(stops(), std::runtime_error);
  ASSERT_TRUE(layer.params());
  EXPECT_EQ(layer.params()->w_q.weight()(0, 0), 3);
  EXPECT_EQ(layer.params()->w_k.weight()(0, 0), 3);
  EXPECT_NE(layer.params()->w_k.bias()(0), 3);
  const auto after = output();
  EXPECT_FALSE(same_bits(after, before));
  const auto refused = layer.backward(saved, after);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("of parameters since changed"));
  ASSERT_TRUE(
      layer.update([](std::string_view, std::span<float>) { return ok(); }));
  EXPECT_TRUE(same_bits(output(), after));
}

TEST(LayerBackwardTest, AnUpdateEndsWithTheFirstErrorAndReturnsIt) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 4, .num_heads = 1}, Seed{3})
          .value();
  std::vector<std::string> names;
  const Status s = layer.update([&](std::string_view name, std::span<float>) {
    names.emplace_back(name);
    return name == "w_q.bias" ? Status(ErrorCode::out_of_range) : ok();
  });
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(names, (std::vector<std::string>{"w_q.weight", "w_q.bias"}));
}

// ---- Gradients by name. ----

using NamesAndSizes = std::vector<std::pair<std::string, std::size_t>>;

NamesAndSizes updated(MultiHeadAttention& layer) {
  NamesAndSizes shown;
  EXPECT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    shown.emplace_back(name, values.size());
    return ok();
  }));
  return shown;
}

TEST(GradientsByNameTest, TheyHaveTheNamesAndTheOrderOfTheParameters) {
  for (const MultiHeadAttentionConfig& config :
       {MultiHeadAttentionConfig{.embed_dim = 8, .num_heads = 2},
        {.embed_dim = 8, .num_heads = 2, .bias = false},
        {.embed_dim = 8, .num_heads = 2, .out_proj = false},
        {.embed_dim = 8, .num_heads = 2, .value_proj = false},
        {.embed_dim = 8, .num_heads = 2, .scoring = Scoring::additive},
        {.embed_dim = 8, .num_heads = 2, .qk_norm = QkNorm{}},
        {.embed_dim = 8,
        .num_heads = 2,
        .qk_norm = QkNorm{.kind = NormKind::layer, .bias = true}}}) {
    auto layer = MultiHeadAttention::create(config, Seed{3}).value();
    const LayerCall call = random_layer_call(layer, 1, 2, 2, 4800);
    auto saved = layer
                     .forward_for_backward(call.query.view(), call.key.view(),
                                           call.value.view())
                     .value();
    const auto d_output = saved.result().output.clone().value();
    auto gradients = layer.backward(saved, d_output.view()).value();
    NamesAndSizes shown;
    std::as_const(gradients).for_each(
        [&](std::string_view name, std::span<const float> gradient) {
          shown.emplace_back(name, gradient.size());
        });
    EXPECT_EQ(shown, updated(layer));
    gradients.for_each([](std::string_view, std::span<float> gradient) {
      std::ranges::fill(gradient, 0.0f);
    });
    for (const float x : gradients.w_k.weight.elements()) {
      EXPECT_EQ(x, 0);
    }
  }
}

TEST(GradientsByNameTest, AnOptimiserTakesThem) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 4, .num_heads = 1}, Seed{3})
          .value();
  const LayerCall call = random_layer_call(layer, 1, 2, 2, 4900);
  auto saved = layer
                   .forward_for_backward(call.query.view(), call.key.view(),
                                         call.value.view())
                   .value();
  const auto d_output = saved.result().output.clone().value();
  const auto gradients = layer.backward(saved, d_output.view()).value();
  const float before = layer.params()->w_k.weight()(1, 2);
  Optimizer optimizer =
      Optimizer::create(SgdConfig{.learning_rate = 0.5}).value();
  std::map<std::string_view, std::span<const float>> by_name;
  gradients.for_each([&](std::string_view name, std::span<const float> g) {
    by_name[name] = g;
  });
  optimizer.begin_step();
  ASSERT_TRUE(layer.update([&](std::string_view name, std::span<float> values) {
    return optimizer.update(name, values, by_name[name]);
  }));
  EXPECT_EQ(layer.params()->w_k.weight()(1, 2),
            before - 0.5f * gradients.w_k.weight(1, 2));
}

}  // namespace
}  // namespace headwise::testing_support
