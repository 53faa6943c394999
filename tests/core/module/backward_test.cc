// The gradients of the layer against the chain rule written out in binary64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/reference.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "steps/wide_norm.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

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

// The norm of heads in binary64; it looks at `params`.
struct NormedHeads {
  const QkNorm& norm;
  const HeadNormParams& params;
  Tensor<double, 4> x;

  NormedHeads(const QkNorm& of, const HeadNormParams& with, const Wide& from,
              std::size_t H)
      : norm(of), params(with), x(by_heads(from, H)) {}

  static Tensor<double, 4> by_heads(const Wide& from, std::size_t H) {
    const auto [B, L, features] = from.extents();
    auto x = Tensor<double, 4>::create({B, L, H, features / H}).value();
    std::ranges::copy(from.elements(), x.data());
    return x;
  }
  Wide forward() const {
    const auto y = WideNorm(norm, params, x).forward();
    Wide merged = zeros({x.extent(0), x.extent(1), x.extent(2) * x.extent(3)});
    std::ranges::copy(y.elements(), merged.data());
    return merged;
  }
  // Writes the gradient by x over that by y.
  WideNormGradients backward(Wide& d) const {
    auto gradients =
        WideNorm(norm, params, x).backward(by_heads(d, x.extent(2)));
    std::ranges::copy(gradients.x.elements(), d.data());
    return gradients;
  }
};

// (B, L, H * D) as (B, L, H, D).
template <class T>
TensorView<T, 4> heads(TensorView<T, 3> x, std::size_t H) {
  return {x.data(), {x.extent(0), x.extent(1), H, x.extent(2) / H}};
}

template <std::size_t Rank>
double largest_of(const Tensor<double, Rank>& tensor) {
  double largest = 1e-3;
  for (const double x : tensor.elements()) {
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

// How far a gradient may be from the one in binary64.
struct Tolerance {
  double of_largest;
  double of_itself;
};

Tolerance tolerance_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 ? Tolerance{0.04, 0.04}
                                        : Tolerance{2e-6, 1e-5};
}

template <std::size_t Rank>
void expect_near(const Tolerance& within, const Tensor<float, Rank>& got,
                 const Tensor<double, Rank>& want, const std::string& name,
                 double at_least = 0) {
  const double largest = std::max(at_least, largest_of(want));
  EXPECT_TRUE(
      (all_near<float, double>(got.elements(), want.elements(),
                               within.of_largest * largest, within.of_itself)))
      << name;
}

void expect_linear(const Tolerance& within, const LinearGradients& got,
                   const WideLinear& want, bool bias, const std::string& name) {
  expect_near(within, got.weight, want.weight, name + ".weight");
  if (bias) {
    // That of w_k is 0 but for rounding, of terms like those of its weight's.
    expect_near(within, got.bias, want.bias, name + ".bias",
                4 * largest_of(want.weight));
  } else {
    EXPECT_EQ(got.bias.size(), 0u);
  }
}

void expect_norm(const Tolerance& within, const HeadNormGradients& got,
                 const WideNormGradients& want, const std::string& name) {
  expect_near(within, got.weight, want.weight, name + ".weight");
  if (got.bias.size() != 0) {
    // That of k_norm is 0 but for rounding, as w_k.bias above.
    expect_near(within, got.bias, want.bias, name + ".bias",
                4 * largest_of(want.weight));
  }
}

// The chain rule through the layer, in binary64.
void expect_gradients(const MultiHeadAttention& layer, const LayerCall& call,
                      const AttentionOptions& options,
                      const std::string& name) {
  const auto got = gradients_of(layer, call, options);
  const MultiHeadAttentionParams& params = *layer.params();
  const MultiHeadAttentionConfig& config = layer.config();
  const Tolerance within = tolerance_of(config.arithmetic);
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
  AddedKeys& added = operation_options.added_keys;
  added.zero_attn = config.add_zero_attn;
  Tensor<double, 2> d_bias_k;
  Tensor<double, 2> d_bias_v;
  if (params.bias_k) {
    added.bias_k = {params.bias_k->data(), {Hkv, *config.head_dim}};
    added.bias_v = {params.bias_v->data(), {Hkv, *config.v_head_dim}};
    d_bias_k = Tensor<double, 2>::create(added.bias_k.extents()).value();
    d_bias_v = Tensor<double, 2>::create(added.bias_v.extents()).value();
  }
  const Wide query = widened(call.query);
  const Wide key = widened(call.key);
  const Wide value = widened(call.value);
  Wide q = projected(query, params.w_q);
  Wide k = projected(key, params.w_k);
  std::optional<NormedHeads> q_norm;
  std::optional<NormedHeads> k_norm;
  if (config.qk_norm) {
    q_norm.emplace(*config.qk_norm, *params.q_norm, q, H);
    k_norm.emplace(*config.qk_norm, *params.k_norm, k, Hkv);
    q = q_norm->forward();
    k = k_norm->forward();
  }
  const Wide v =
      params.w_v ? projected(value, *params.w_v) : widened(call.value);
  const auto [B, Lq, width] = q.extents();
  Wide context = zeros({B, Lq, H * *config.v_head_dim});
  const std::size_t columns =
      k.extent(1) + (params.bias_k ? 1U : 0U) + (added.zero_attn ? 1U : 0U);
  auto weights = Tensor<double, 4>::create({B, H, Lq, columns}).value();
  auto mean = Tensor<double, 4>::create({B, 1, Lq, columns}).value();
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
    expect_linear(within, *got.w_o, o, params.w_o->has_bias(), name + ": w_o");
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
                                                  : d_score_weight,
       .bias_k = params.bias_k ? d_bias_k : TensorView<double, 2>(),
       .bias_v = params.bias_v ? d_bias_v : TensorView<double, 2>()},
      options, operation_options));
  if (config.qk_norm) {
    expect_norm(within, *got.q_norm, q_norm->backward(d_q), name + ": q_norm");
    expect_norm(within, *got.k_norm, k_norm->backward(d_k), name + ": k_norm");
  }
  const WideLinear of_q = differentiated(query, d_q, params.w_q);
  const WideLinear of_k = differentiated(key, d_k, params.w_k);
  expect_near(within, got.query, of_q.x, name + ": query");
  expect_near(within, got.key, of_k.x, name + ": key");
  expect_linear(within, got.w_q, of_q, config.bias, name + ": w_q");
  expect_linear(within, got.w_k, of_k, config.bias, name + ": w_k");
  expect_near(within, got.w_score, d_score_weight, name + ": w_score");
  const auto in_a_row = [](Tensor<double, 2> heads) {
    const Extents<1> extents{heads.size()};
    return std::move(heads).with_extents(extents);
  };
  expect_near(within, got.bias_k, in_a_row(std::move(d_bias_k)),
              name + ": bias_k");
  expect_near(within, got.bias_v, in_a_row(std::move(d_bias_v)),
              name + ": bias_v");
  if (!params.w_v) {
    expect_near(within, got.value, d_v, name + ": value");
    return;
  }
  const WideLinear of_v = differentiated(value, d_v, *params.w_v);
  expect_near(within, got.value, of_v.x, name + ": value");
  expect_linear(within, got.w_v, of_v, config.bias, name + ": w_v");
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
        .scoring = Scoring::additive}},
      {"added keys, grouped",
       {.embed_dim = 16,
        .num_heads = 4,
        .num_kv_heads = 2,
        .v_head_dim = 3,
        .add_bias_kv = true,
        .add_zero_attn = true}},
      {"RMS norm",
       {.embed_dim = 32,
        .num_heads = 4,
        .num_kv_heads = 2,
        .qk_norm = QkNorm{}}},
      {"RMS norm over the projection, 1 + w",
       {.embed_dim = 32,
        .num_heads = 4,
        .num_kv_heads = 2,
        .qk_norm = QkNorm{.over = NormOver::projection, .plus_one = true}}},
      {"layer norm of each head",
       {.embed_dim = 32,
        .num_heads = 2,
        .qk_norm = QkNorm{.kind = NormKind::layer,
                          .over = NormOver::each_head,
                          .bias = true}}}};
  for (const auto& [name, config] : layers) {
    auto layer = MultiHeadAttention::create(config, Seed{3}).value();
    draw_norms(layer);
    // The second is more than one block of queries and of keys.
    for (const auto& [Lq, Lkv] : {std::pair{5u, 7u}, {150u, 131u}}) {
      LayerCall call =
          random_layer_call(layer, Lq < 100 ? 2 : 1, Lq, Lkv, 4000);
      if (config.scoring == Scoring::additive) {
        // Small tangents are nearly linear, and then a query's gradients from
        // all keys cancel.
        enlarge(call.query);
        enlarge(call.key);
      }
      for (const Arithmetic arithmetic :
           {Arithmetic::exact, Arithmetic::bf16}) {
        ASSERT_TRUE(layer.set_arithmetic(arithmetic));
        const std::string of = name + " in " + std::string(name_of(arithmetic));
        if (Lq < 100) {
          expect_gradients(layer, call, {}, of);
        }
        expect_gradients(layer, call, {.mask = causal()}, of + ", causal");
      }
    }
  }
}

TEST(LayerBackwardTest, TakesAGradientOfTheReturnedWeights) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{3})
          .value();
  for (const AttnWeights form :
       {AttnWeights::per_head, AttnWeights::mean, AttnWeights::after_dropout}) {
    LayerCall call = random_layer_call(layer, 2, 6, 9, 4100);
    call.d_attn_weights =
        uniform<4>({2, form == AttnWeights::mean ? 1u : 3u, 6, 9}, 4110);
    const AttentionOptions options = {
        .mask = causal(),
        .dropout = {.p = 0.3, .training = true, .step = 1},
        .attn_weights = form};
    expect_gradients(layer, call, options, "weights");
    // A loss on the weights alone.
    std::ranges::fill(call.d_output.elements(), 0.0f);
    expect_gradients(layer, call, options, "weights alone");
  }
}

}  // namespace
}  // namespace headwise::testing_support
