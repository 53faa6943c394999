// The backward pass of the layer: against the chain rule written out in
// binary64, and what it promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/backward_call.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/module/optimizer.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing_support::all_near;
using testing_support::filled;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::view_of;
using testing_support::widened;

using Wide = Tensor<double, 3>;

Wide zeros(const Extents<3>& extents) { return Wide::create(extents).value(); }

Wide projected(const Wide& x, const Linear& linear) {
  Wide y = zeros({x.extent(0), x.extent(1), linear.out_features()});
  const auto [B, L, out] = y.extents();
  for (std::size_t n = 0; n < B * L; ++n) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum =
          linear.has_bias() ? static_cast<double>(linear.bias()(o)) : 0;
      for (std::size_t i = 0; i < x.extent(2); ++i) {
        sum += x(n / L, n % L, i) * static_cast<double>(linear.weight()(o, i));
      }
      y(n / L, n % L, o) = sum;
    }
  }
  return y;
}

struct WideLinear {
  Wide x;
  Tensor<double, 2> weight;
  Tensor<double, 1> bias;
};

WideLinear differentiated(const Wide& x, const Wide& d_y,
                          const Linear& linear) {
  const auto [B, L, out] = d_y.extents();
  const std::size_t in = x.extent(2);
  WideLinear d{zeros(x.extents()), Tensor<double, 2>::create({out, in}).value(),
               Tensor<double, 1>::create({out}).value()};
  for (std::size_t n = 0; n < B * L; ++n) {
    for (std::size_t o = 0; o < out; ++o) {
      const double g = d_y(n / L, n % L, o);
      d.bias(o) += g;
      for (std::size_t i = 0; i < in; ++i) {
        d.weight(o, i) += g * x(n / L, n % L, i);
        d.x(n / L, n % L, i) += g * static_cast<double>(linear.weight()(o, i));
      }
    }
  }
  return d;
}

// (B, L, H * D) as (B, L, H, D).
template <class T>
TensorView<T, 4> heads(TensorView<T, 3> x, std::size_t H) {
  return {x.data(), {x.extent(0), x.extent(1), H, x.extent(2) / H}};
}

struct Call {
  Tensor<float, 3> query;
  Tensor<float, 3> key;
  Tensor<float, 3> value;
  Tensor<float, 3> d_output;
  Tensor<float, 4> d_attn_weights{};

  TensorView<const float, 4> d_weights_view() const {
    return d_attn_weights.size() == 0 ? TensorView<const float, 4>()
                                      : d_attn_weights;
  }
};

Call random_call(const MultiHeadAttention& layer, std::size_t B, std::size_t Lq,
                 std::size_t Lkv, std::uint32_t stream) {
  const MultiHeadAttentionConfig& config = layer.config();
  const std::size_t out = config.out_proj
                              ? config.embed_dim
                              : config.num_heads * *config.v_head_dim;
  return {uniform<3>({B, Lq, *config.query_dim}, stream),
          uniform<3>({B, Lkv, *config.kdim}, stream + 1),
          uniform<3>({B, Lkv, *config.vdim}, stream + 2),
          uniform<3>({B, Lq, out}, stream + 3)};
}

MultiHeadAttentionGradients gradients_of(const MultiHeadAttention& layer,
                                         const Call& call,
                                         const AttentionOptions& options) {
  auto saved =
      layer.forward_for_backward(call.query, call.key, call.value, options)
          .value();
  return layer.backward(saved, call.d_output, call.d_weights_view()).value();
}

template <std::size_t Rank>
double largest_of(const Tensor<double, Rank>& tensor) {
  double largest = 1e-3;
  for (const double x : tensor.elements()) {
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

template <std::size_t Rank>
void expect_near(const Tensor<float, Rank>& got,
                 const Tensor<double, Rank>& want, const std::string& name,
                 double at_least = 0) {
  const double largest = std::max(at_least, largest_of(want));
  EXPECT_TRUE((all_near<float, double>(got.elements(), want.elements(),
                                       2e-6 * largest, 1e-5)))
      << name;
}

void expect_linear(const LinearGradients& got, const WideLinear& want,
                   bool bias, const std::string& name) {
  expect_near(got.weight, want.weight, name + ".weight");
  if (bias) {
    // That of w_k is 0 but for rounding, of terms like those of its weight's.
    expect_near(got.bias, want.bias, name + ".bias",
                4 * largest_of(want.weight));
  } else {
    EXPECT_EQ(got.bias.size(), 0u);
  }
}

// The chain rule through the layer, in binary64.
void expect_gradients(const MultiHeadAttention& layer, const Call& call,
                      const AttentionOptions& options,
                      const std::string& name) {
  const auto got = gradients_of(layer, call, options);
  const MultiHeadAttentionParams& params = *layer.params();
  const MultiHeadAttentionConfig& config = layer.config();
  OperationOptions operation_options = {
      .kv_groups = HeadGroups::create(config.kv_group_sizes).value()};
  Tensor<double, 2> d_score_weight;
  if (params.w_score) {
    operation_options.score_weight = *params.w_score;
    d_score_weight =
        Tensor<double, 2>::create(params.w_score->extents()).value();
  }
  const std::size_t H = config.num_heads;
  const std::size_t Hkv = *config.num_kv_heads;
  const Wide query = widened(call.query);
  const Wide key = widened(call.key);
  const Wide value = widened(call.value);
  const Wide q = projected(query, params.w_q);
  const Wide k = projected(key, params.w_k);
  const Wide v =
      params.w_v ? projected(value, *params.w_v) : widened(call.value);
  const auto [B, Lq, width] = q.extents();
  Wide context = zeros({B, Lq, H * *config.v_head_dim});
  auto weights = Tensor<double, 4>::create({B, H, Lq, k.extent(1)}).value();
  auto mean = Tensor<double, 4>::create({B, 1, Lq, k.extent(1)}).value();
  const bool is_mean = options.attn_weights == AttnWeights::mean;
  ASSERT_TRUE(reference_attention<double>(
      heads(q.view(), H), heads(k.view(), Hkv), heads(v.view(), Hkv),
      {.output = heads(context.view(), H),
       .attn_weights = options.attn_weights == AttnWeights::none
                           ? TensorView<double, 4>()
                       : is_mean ? mean.view()
                                 : weights.view()},
      options, operation_options));
  Wide d_context = widened(call.d_output);
  if (params.w_o) {
    WideLinear o = differentiated(context, d_context, *params.w_o);
    expect_linear(*got.w_o, o, params.w_o->has_bias(), name + ": w_o");
    d_context = std::move(o.x);
  }
  Wide d_q = zeros(q.extents());
  Wide d_k = zeros(k.extents());
  Wide d_v = zeros(v.extents());
  const auto rows = Tensor<double, 4>::create({B, H, Lq, 2}).value();
  const auto d_weights = widened(call.d_attn_weights);
  ASSERT_TRUE(reference_attention_backward<double>(
      {heads(q.view(), H), heads(k.view(), Hkv), heads(v.view(), Hkv),
       heads(view_of(context), H), rows.view(), heads(view_of(d_context), H),
       d_weights.size() == 0 ? TensorView<const double, 4>() : d_weights},
      {.query = heads(d_q.view(), H),
       .key = heads(d_k.view(), Hkv),
       .value = heads(d_v.view(), Hkv),
       .score_weight = d_score_weight.size() == 0 ? TensorView<double, 2>()
                                                  : d_score_weight},
      options, operation_options));
  const WideLinear of_q = differentiated(query, d_q, params.w_q);
  const WideLinear of_k = differentiated(key, d_k, params.w_k);
  expect_near(got.query, of_q.x, name + ": query");
  expect_near(got.key, of_k.x, name + ": key");
  expect_linear(got.w_q, of_q, config.bias, name + ": w_q");
  expect_linear(got.w_k, of_k, config.bias, name + ": w_k");
  expect_near(got.w_score, d_score_weight, name + ": w_score");
  if (!params.w_v) {
    expect_near(got.value, d_v, name + ": value");
    return;
  }
  const WideLinear of_v = differentiated(value, d_v, *params.w_v);
  expect_near(got.value, of_v.x, name + ": value");
  expect_linear(got.w_v, of_v, config.bias, name + ": w_v");
}

void enlarge(Tensor<float, 3>& x) {
  for (float& element : x.elements()) {
    element *= 16;
  }
}

TEST(LayerBackwardTest, IsTheChainRuleForEveryKindOfLayer) {
  const std::vector<std::pair<std::string, MultiHeadAttentionConfig>> layers = {
      {"plain", {.embed_dim = 12, .num_heads = 3}},
      {"wide", {.embed_dim = 260, .num_heads = 2}},
      {"grouped", {.embed_dim = 16, .num_heads = 4, .num_kv_heads = 2}},
      {"uneven groups",
       {.embed_dim = 14, .num_heads = 7, .kv_group_sizes = {3, 4}}},
      {"no bias", {.embed_dim = 8, .num_heads = 2, .bias = false}},
      {"other sizes",
       {.embed_dim = 10,
        .num_heads = 2,
        .query_dim = 7,
        .kdim = 5,
        .vdim = 9,
        .head_dim = 4,
        .v_head_dim = 3}},
      {"no w_o", {.embed_dim = 8, .num_heads = 2, .out_proj = false}},
      {"no w_v", {.embed_dim = 8, .num_heads = 2, .value_proj = false}},
      {"additive",
       {.embed_dim = 12, .num_heads = 3, .scoring = Scoring::additive}},
      {"additive, grouped",
       {.embed_dim = 16,
        .num_heads = 4,
        .num_kv_heads = 2,
        .head_dim = 7,
        .scoring = Scoring::additive}},
      {"d2l's additive",
       {.embed_dim = 9,
        .num_heads = 1,
        .bias = false,
        .query_dim = 5,
        .vdim = 4,
        .out_proj = false,
        .value_proj = false,
        .scoring = Scoring::additive}}};
  for (const auto& [name, config] : layers) {
    const auto layer = MultiHeadAttention::create(config, Seed{3}).value();
    // The second is more than one block of queries and of keys.
    for (const auto& [Lq, Lkv] : {std::pair{5u, 7u}, {150u, 131u}}) {
      Call call = random_call(layer, Lq < 100 ? 2 : 1, Lq, Lkv, 4000);
      if (config.scoring == Scoring::additive) {
        // Small tangents are nearly linear, and then a query's gradients from
        // all keys cancel.
        enlarge(call.query);
        enlarge(call.key);
      }
      if (Lq < 100) {
        expect_gradients(layer, call, {}, name);
      }
      expect_gradients(layer, call, {.mask = causal()}, name + ", causal");
    }
  }
}

TEST(LayerBackwardTest, TakesAGradientOfTheReturnedWeights) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{3})
          .value();
  for (const AttnWeights form :
       {AttnWeights::per_head, AttnWeights::mean, AttnWeights::after_dropout}) {
    Call call = random_call(layer, 2, 6, 9, 4100);
    call.d_attn_weights =
        uniform<4>({2, form == AttnWeights::mean ? 1u : 3u, 6, 9}, 4110);
    const AttentionOptions options = {.mask = causal(),
                                      .dropout = {.p = 0.3, .training = true},
                                      .attn_weights = form};
    expect_gradients(layer, call, options, "weights");
    // A loss on the weights alone.
    std::ranges::fill(call.d_output.elements(), 0.0f);
    expect_gradients(layer, call, options, "weights alone");
  }
}

TEST(LayerBackwardTest, UsesTheDropoutOfTheLayer) {
  const auto layer =
      MultiHeadAttention::create(
          {.embed_dim = 12, .num_heads = 3, .dropout = 0.4}, Seed{3})
          .value();
  const Call call = random_call(layer, 2, 6, 9, 4200);
  const auto own = gradients_of(layer, call, {.dropout = {.training = true}});
  const auto given =
      gradients_of(layer, call, {.dropout = {.p = 0.4, .training = true}});
  const auto none = gradients_of(layer, call, {});
  EXPECT_TRUE(same_bits(own.query, given.query));
  EXPECT_FALSE(same_bits(own.query, none.query));
}

bool same(const LinearGradients& a, const LinearGradients& b) {
  return same_bits(a.weight, b.weight) && same_bits(a.bias, b.bias);
}

TEST(LayerBackwardTest, HasTheSameBitsForAnyNumberOfThreads) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 64, .num_heads = 4}, Seed{3})
          .value();
  const Call call = random_call(layer, 3, 140, 140, 4300);
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
  Call padded = random_call(layer, 3, 150, 150, 4400);
  for (std::size_t b = 0; b < 3; ++b) {
    for (auto l = static_cast<std::size_t>(numbers[b]); l < 150; ++l) {
      // What padding holds is nothing: its gradient is 0.
      std::fill_n(&padded.d_output(b, l, 0), 24, 0.0f);
      std::fill_n(&padded.key(b, l, 0), 24, kNaN);
      std::fill_n(&padded.value(b, l, 0), 24, kNaN);
    }
  }
  const Call ragged = {without_padding(padded.query, numbers),
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
  const Call call = random_call(layer, 2, 5, 6, 4500);
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
  const Call call = random_call(layer, 2, 5, 6, 4600);
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
  EXPECT_THAT(refused,
              testing_support::IsAbout("d_output", "(2, 5, 11)", "(2, 5, 12)"));
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
  const Call call = random_call(layer, 1, 2, 2, 4700);
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
  const Call call = random_call(layer, 1, 2, 2, 4710);
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
        {.embed_dim = 8, .num_heads = 2, .scoring = Scoring::additive}}) {
    auto layer = MultiHeadAttention::create(config, Seed{3}).value();
    const Call call = random_call(layer, 1, 2, 2, 4800);
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
  const Call call = random_call(layer, 1, 2, 2, 4900);
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
}  // namespace headwise
