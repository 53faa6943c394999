// Heads taken out of a layer, in every form that a layer has.
#include "headwise/prune/remove_heads.h"

#include <string>
#include <utility>
#include <vector>

#include "module/layer.h"
#include "prune/pruned_layer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Form {
  std::string name;
  MultiHeadAttentionConfig config;
  Heads gone;
};

// Six heads of queries; what differs is said.
MultiHeadAttentionConfig six(std::size_t num_kv_heads) {
  return {.embed_dim = 18,
          .num_heads = 6,
          .num_kv_heads = num_kv_heads,
          .query_dim = 10,
          .kdim = 11,
          .vdim = 12,
          .head_dim = 4,
          .v_head_dim = 3};
}

std::vector<Form> forms() {
  std::vector<Form> all = {{"AHeadForEach", six(6), {1, 4}},
                           {"EvenGroupsLeft", six(3), {0, 3, 5}},
                           {"UnevenGroupsLeft", six(2), {1}},
                           {"AGroupGone", six(3), {2, 3}},
                           {"AGroupGoneAndUneven", six(3), {0, 1, 4}},
                           {"OneKeyHead", six(1), {0, 5}},
                           {"AllGone", six(3), {5, 4, 3, 2, 1, 0}},
                           {"NamedInAnyOrder", six(6), {5, 0, 2}}};
  Form form{"GroupsUnevenBefore", six(2), {0, 2}};
  form.config.kv_group_sizes = {4, 2};
  all.push_back(form);
  form = {"Additive", six(3), {1, 2, 3}};
  form.config.scoring = Scoring::additive;
  all.push_back(form);
  form = {"AdditiveAllGone", six(2), {0, 1, 2, 3, 4, 5}};
  form.config.scoring = Scoring::additive;
  all.push_back(form);
  form = {"NoBiases", six(3), {0, 4, 5}};
  form.config.bias = false;
  all.push_back(form);
  form = {"NoBiasesAllGone", six(3), {0, 1, 2, 3, 4, 5}};
  form.config.bias = false;
  all.push_back(form);
  form = {"ValuesAsTheyAre", six(4), {0, 4}};
  form.config.num_heads = 8;
  form.config.value_proj = false;
  all.push_back(form);
  form = {"NormOfAllHeads", six(3), {1, 2, 3}};
  form.config.qk_norm = QkNorm{};
  all.push_back(form);
  form = {"NormOfEachHead", six(3), {1, 2, 3}};
  form.config.qk_norm = QkNorm{
      .kind = NormKind::layer, .over = NormOver::each_head, .bias = true};
  all.push_back(form);
  Form added = {"AddedKeys", six(3), {1, 2, 3}};
  added.config.add_bias_kv = true;
  added.config.add_zero_attn = true;
  all.push_back(added);
  added.name = "AddedKeysAllGone";
  added.gone = {0, 1, 2, 3, 4, 5};
  all.push_back(added);
  form.name = "NormOfEachHeadAllGone";
  form.gone = {0, 1, 2, 3, 4, 5};
  all.push_back(form);
  return all;
}

// Two sequences of 7 queries and 140 keys.
struct Inputs {
  Tensor<float, 3> query = uniform<3>({2, 7, 10}, 1);
  Tensor<float, 3> key = uniform<3>({2, 140, 11}, 2);
  Tensor<float, 3> value = uniform<3>({2, 140, 12}, 3);

  MultiHeadAttentionResult<3> forward(const MultiHeadAttention& layer,
                                      const AttentionOptions& options = {},
                                      const LayerOptions& layer_options = {},
                                      TraceSink* trace = nullptr) const {
    return layer
        .forward(query.view(), key.view(), value.view(), options, layer_options,
                 trace)
        .value();
  }
  MultiHeadAttentionGradients gradients(const MultiHeadAttention& layer,
                                        const LayerOptions& options) const {
    auto saved = layer
                     .forward_for_backward(query.view(), key.view(),
                                           value.view(), {}, options)
                     .value();
    const auto d_output = uniform<3>(saved.result().output.extents(), 4);
    return layer.backward(saved, d_output).value();
  }
};

class RemoveHeadsTest : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override { draw_norms(whole_); }

  MultiHeadAttention without(const Heads& heads,
                             ConstantPart constant = ConstantPart::dropped) {
    auto left = remove_heads(whole_, heads, constant);
    EXPECT_TRUE(left) << left.error().message();
    return *std::move(left);
  }

  MultiHeadAttention whole_ = layer_of(GetParam().config);
  const MultiHeadAttentionConfig& config_ = whole_.config();
  const Heads gone_ = GetParam().gone;
  const Heads left_ = heads_left(GetParam().config.num_heads, gone_);
  const Inputs inputs_{};
};

TEST_P(RemoveHeadsTest, TheOutputIsThatOfGatesOfZero) {
  const auto gates = gates_without(config_.num_heads, gone_);
  const auto want = inputs_.forward(whole_, {}, {.head_gates = gates.view()});
  const auto got = inputs_.forward(without(gone_));
  EXPECT_TRUE(all_near(got.output, want.output, 1e-5));
}

TEST_P(RemoveHeadsTest, WhatTheHeadsAlwaysAddedIsInTheBias) {
  const auto gates = gates_without(config_.num_heads, gone_);
  const auto gated = inputs_.forward(whole_, {}, {.head_gates = gates.view()});
  auto want = widened(gated.output);
  const std::optional<Linear>& w_v = whole_.params()->w_v;
  const std::optional<Linear>& w_o = whole_.params()->w_o;
  const std::size_t Dv = *config_.v_head_dim;
  // Next to added keys the weights of the keys do not sum to 1.
  const bool constant = w_v && w_v->has_bias() && !config_.add_bias_kv;
  for (std::size_t n = 0; constant && n < want.size(); ++n) {
    for (const std::size_t h : gone_) {
      for (std::size_t d = 0; d < Dv; ++d) {
        want.data()[n] +=
            static_cast<double>(w_o->weight()(n % 18, h * Dv + d)) *
            static_cast<double>(w_v->bias()(kv_heads(config_)[h] * Dv + d));
      }
    }
  }
  const auto got = inputs_.forward(without(gone_, ConstantPart::into_bias));
  EXPECT_TRUE(all_near(got.output, want, 1e-5));
}

TEST_P(RemoveHeadsTest, HeadsThatStayKeepTheBitsOfTheirContexts) {
  if (left_.empty()) {
    return;
  }
  const AttentionOptions options{.mask = causal(),
                                 .query_start = 100,
                                 .attn_weights = AttnWeights::per_head};
  const MultiHeadAttention left = without(gone_);
  const auto want = inputs_.forward(contexts_of(whole_), options);
  const auto got = inputs_.forward(contexts_of(left), options);
  EXPECT_TRUE(same_bits(got.output,
                        picked(want.output, 2, left_, *config_.v_head_dim)));
  EXPECT_TRUE(same_bits(got.lse, picked(want.lse, 1, left_)));
  EXPECT_TRUE(same_bits(got.attn_weights, picked(want.attn_weights, 1, left_)));
}

TEST_P(RemoveHeadsTest, ATraceShowsTheSameContexts) {
  const MultiHeadAttention left = without(gone_);
  if (left_.empty()) {
    return;
  }
  RecordedTrace of_whole;
  RecordedTrace of_left;
  inputs_.forward(whole_, {}, {}, &of_whole);
  inputs_.forward(left, {}, {}, &of_left);
  const auto* want = of_whole.find("context");
  const auto* got = of_left.find("context");
  ASSERT_NE(want, nullptr);
  ASSERT_NE(got, nullptr);
  const auto all = tensor_of<float, 4>(
      {2, config_.num_heads, 7, *config_.v_head_dim}, want->elements);
  EXPECT_TRUE(same_bits(got->elements, picked(all, 1, left_).elements()));
}

TEST_P(RemoveHeadsTest, NoneRemovedIsTheSameLayer) {
  for (const auto constant : {ConstantPart::into_bias, ConstantPart::dropped}) {
    const MultiHeadAttention same = without({}, constant);
    EXPECT_TRUE(same_params(same, whole_));
    EXPECT_TRUE(same_bits(inputs_.forward(same).output,
                          inputs_.forward(whole_).output));
    EXPECT_EQ(same.config().kv_group_sizes, config_.kv_group_sizes);
    EXPECT_EQ(same.config().num_kv_heads, config_.num_kv_heads);
  }
}

TEST_P(RemoveHeadsTest, OneAfterAnotherIsAllAtOnce) {
  const Heads all = heads_left(18, {});  // rows of w_o
  for (const auto constant : {ConstantPart::into_bias, ConstantPart::dropped}) {
    const MultiHeadAttention at_once = without(gone_, constant);
    Heads numbers = heads_left(config_.num_heads, {});
    MultiHeadAttention left = without({}, constant);
    for (const std::size_t h : gone_) {
      const auto place = std::ranges::find(numbers, h);
      const auto at = static_cast<std::size_t>(place - numbers.begin());
      left = remove_heads(left, std::span(&at, 1), constant).value();
      numbers.erase(place);
    }
    EXPECT_EQ(left.config().num_kv_heads, at_once.config().num_kv_heads);
    EXPECT_EQ(left.config().kv_group_sizes, at_once.config().kv_group_sizes);
    EXPECT_TRUE(same_params(left.params()->w_q, at_once.params()->w_q));
    EXPECT_TRUE(same_params(left.params()->w_k, at_once.params()->w_k));
    EXPECT_TRUE(same_bits(picked(left.params()->w_o->weight(), 0, all),
                          picked(at_once.params()->w_o->weight(), 0, all)));
    if (constant == ConstantPart::dropped) {
      EXPECT_TRUE(same_params(left, at_once));
    } else if (config_.bias) {
      EXPECT_TRUE(all_near(picked(left.params()->w_o->bias(), 0, all),
                           picked(at_once.params()->w_o->bias(), 0, all),
                           1e-6));
    }
  }
}

TEST_P(RemoveHeadsTest, SizesAreThoseOfTheHeadsThatStay) {
  const MultiHeadAttention left = without(gone_);
  const Heads kv = kv_heads_left(config_, left_);
  EXPECT_EQ(left.config().num_heads, left_.size());
  EXPECT_EQ(left.config().num_kv_heads, kv.size());
  EXPECT_EQ(left.config().embed_dim, 18u);
  EXPECT_EQ(left.params()->w_q.out_features(), left_.size() * 4);
  EXPECT_EQ(left.params()->w_k.out_features(), kv.size() * 4);
  EXPECT_EQ(left.params()->w_o->in_features(),
            left_.size() * *config_.v_head_dim);
  EXPECT_EQ(left.params()->w_v.has_value(), config_.value_proj);
}

TEST_P(RemoveHeadsTest, GradientsAreThoseOfGatesOfZero) {
  const auto gates = gates_without(config_.num_heads, gone_);
  const auto want = inputs_.gradients(whole_, {.head_gates = gates});
  const auto got = inputs_.gradients(without(gone_), {});
  EXPECT_TRUE(all_near(got.query, want.query, 1e-5));
  EXPECT_TRUE(all_near(got.key, want.key, 1e-5));
  EXPECT_TRUE(all_near(got.value, want.value, 1e-5));
  const Heads kv = kv_heads_left(config_, left_);
  const auto expect_rows = [](const LinearGradients& some,
                              const LinearGradients& all, const Heads& heads,
                              std::size_t size) {
    EXPECT_TRUE(
        all_near(some.weight, picked(all.weight, 0, heads, size), 1e-5));
    EXPECT_EQ(some.bias.size(), all.bias.size() == 0 ? 0 : heads.size() * size);
    if (all.bias.size() != 0) {
      EXPECT_TRUE(all_near(some.bias, picked(all.bias, 0, heads, size), 1e-5));
    }
  };
  const std::size_t Dv = *config_.v_head_dim;
  expect_rows(got.w_q, want.w_q, left_, 4);
  expect_rows(got.w_k, want.w_k, kv, 4);
  if (config_.value_proj) {
    expect_rows(got.w_v, want.w_v, kv, Dv);
  }
  EXPECT_TRUE(
      all_near(got.w_o->weight, picked(want.w_o->weight, 1, left_, Dv), 1e-5));
  EXPECT_TRUE(all_near(got.w_o->bias, want.w_o->bias, 1e-5));
  if (config_.scoring == Scoring::additive && !left_.empty()) {
    EXPECT_TRUE(all_near(got.w_score, picked(want.w_score, 0, left_), 1e-5));
  }
  if (got.q_norm && config_.qk_norm->over == NormOver::each_head) {
    EXPECT_TRUE(all_near(got.q_norm->weight,
                         picked(want.q_norm->weight, 0, left_, 4), 1e-5));
    EXPECT_TRUE(
        all_near(got.k_norm->bias, picked(want.k_norm->bias, 0, kv, 4), 1e-5));
  } else if (got.q_norm) {
    EXPECT_TRUE(all_near(got.q_norm->weight, want.q_norm->weight, 1e-5));
    EXPECT_TRUE(all_near(got.k_norm->weight, want.k_norm->weight, 1e-5));
  }
}

TEST_P(RemoveHeadsTest, ARaggedBatchIsThatOfGatesOfZero) {
  const std::vector<std::int64_t> of_query = {0, 3, 3, 7};
  const std::vector<std::int64_t> of_key = {0, 100, 130, 140};
  const auto gates = gates_without(config_.num_heads, gone_);
  AttentionOptions options;
  options.offsets =
      Offsets(TensorView<const std::int64_t, 1>(of_query.data(), {4}),
              TensorView<const std::int64_t, 1>(of_key.data(), {4}));
  const auto forward = [&](const MultiHeadAttention& layer,
                           const LayerOptions& layer_options) {
    return layer
        .forward(TensorView<const float, 3>(inputs_.query.data(), {1, 7, 10}),
                 TensorView<const float, 3>(inputs_.key.data(), {1, 140, 11}),
                 TensorView<const float, 3>(inputs_.value.data(), {1, 140, 12}),
                 options, layer_options)
        .value();
  };
  const auto got = forward(without(gone_), {});
  const auto want = forward(whole_, {.head_gates = gates.view()});
  EXPECT_TRUE(all_near(got.output, want.output, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Forms, RemoveHeadsTest, testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param.name; });

// ---- What is not a matter of form. ----

TEST(RemovedHeadsTest, AHeadOfConstantValuesIsNotMissed) {
  MultiHeadAttention whole =
      layer_of({.embed_dim = 12, .num_heads = 4, .num_kv_heads = 2});
  ASSERT_TRUE(whole.update([](std::string_view name, std::span<float> values) {
    if (name == "w_v.weight") {
      std::fill_n(values.begin() + 3 * 12, 3 * 12, 0.0f);  // of key head 1
    }
    return ok();
  }));
  const auto x = uniform<3>({2, 9, 12}, 20);
  const auto want = forward_of(whole, x).output;
  for (const Heads& gone : {Heads{2}, Heads{3}, Heads{2, 3}}) {
    const auto left = remove_heads(whole, gone).value();
    EXPECT_TRUE(all_near(forward_of(left, x).output, want, 1e-6));
  }
}

TEST(RemovedHeadsTest, AConstantMakesABiasWhereThereWasNone) {
  const auto linear = [](std::size_t out, std::size_t in, bool bias,
                         std::uint32_t stream) {
    return Linear::from_params(
               uniform<2>({out, in}, stream),
               bias ? uniform<1>({out}, stream + 1) : Tensor<float, 1>())
        .value();
  };
  const auto whole = MultiHeadAttention::from_params(
                         {linear(6, 5, false, 30), linear(6, 5, false, 32),
                          linear(6, 5, true, 34), linear(5, 6, false, 36)},
                         2)
                         .value();
  const Heads gone = {0};
  EXPECT_TRUE(remove_heads(whole, gone).value().params()->w_o->has_bias());
  EXPECT_FALSE(remove_heads(whole, gone, ConstantPart::dropped)
                   .value()
                   .params()
                   ->w_o->has_bias());
  EXPECT_FALSE(remove_heads(whole, {}).value().params()->w_o->has_bias());
}

TEST(RemovedHeadsTest, TheOutputOfNoHeadIsTheBias) {
  const auto whole = layer_of({.embed_dim = 12, .num_heads = 3});
  const auto none =
      remove_heads(whole, Heads{0, 1, 2}, ConstantPart::dropped).value();
  const auto x = uniform<3>({2, 5, 12}, 40);
  const auto got = forward_of(none, x).output;
  for (std::size_t n = 0; n < got.size(); ++n) {
    EXPECT_EQ(got.data()[n], whole.params()->w_o->bias()(n % 12));
  }
  EXPECT_TRUE(same_params(remove_heads(none, {}).value(), none));
}

TEST(RemovedHeadsTest, TheSharesOfDropoutStay) {
  const auto whole =
      layer_of({.embed_dim = 12, .num_heads = 4, .dropout = 0.25});
  EXPECT_EQ(remove_heads(whole, Heads{1}).value().config().dropout, 0.25);
  EXPECT_EQ(remove_heads(whole, Heads{0, 1, 2, 3}).value().config().dropout,
            0.25);
}

// Removing is refused: the error is about this argument and names these values.
auto IsRefused(ErrorCode code, std::string argument,
               std::vector<std::string> given,
               std::vector<std::string> expected = {}) {
  return HasError({.code = code,
                   .operation = "remove_heads",
                   .argument = std::move(argument),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

TEST(RemovedHeadsTest, HeadsThatAreNotThereOrNamedTwiceAreErrors) {
  const auto whole = layer_of({.embed_dim = 12, .num_heads = 4});
  EXPECT_THAT(
      remove_heads(whole, Heads{1, 4}),
      IsRefused(ErrorCode::out_of_range, "head", {"4"}, {"num_heads = 4"}));
  EXPECT_THAT(
      remove_heads(whole, Heads{1, 2, 1}),
      IsRefused(ErrorCode::invalid_argument, "head", {"1", "twice"}, {"once"}));
  const auto none = remove_heads(whole, Heads{0, 1, 2, 3}).value();
  EXPECT_THAT(
      remove_heads(none, Heads{0}),
      IsRefused(ErrorCode::out_of_range, "head", {"0"}, {"num_heads = 0"}));
}

TEST(RemovedHeadsTest, LayersThatCannotLoseAHeadAreErrors) {
  const auto without_w_o =
      layer_of({.embed_dim = 12, .num_heads = 4, .out_proj = false});
  EXPECT_THAT(remove_heads(without_w_o, Heads{1}),
              IsRefused(ErrorCode::unsupported, "layer", {"w_o"}));
  const auto open =
      layer_of({.embed_dim = 12, .num_heads = 4, .kdim = kOpenSize});
  EXPECT_THAT(remove_heads(open, Heads{1}),
              IsRefused(ErrorCode::unsupported, "layer", {"parameters"}));
  const auto shared = layer_of({.embed_dim = 12,
                                .num_heads = 4,
                                .num_kv_heads = 2,
                                .vdim = 6,
                                .value_proj = false});
  EXPECT_THAT(remove_heads(shared, Heads{0, 1}),
              IsRefused(ErrorCode::unsupported, "layer", {"w_v"}));
  EXPECT_TRUE(remove_heads(shared, Heads{0, 3}));
  const auto joint =
      layer_of({.embed_dim = 12,
                .num_heads = 4,
                .qk_norm = QkNorm{.over = NormOver::projection}});
  EXPECT_THAT(remove_heads(joint, Heads{1}),
              IsRefused(ErrorCode::unsupported, "layer", {"projection"}));
  EXPECT_TRUE(remove_heads(joint, {}));
}

TEST(RemovedHeadsTest, ALayerInBf16StaysInItWithTheSameParameters) {
  MultiHeadAttention layer = layer_of(six(3));
  const auto want = remove_heads(layer, Heads{0, 3, 5}).value();
  ASSERT_TRUE(layer.set_arithmetic(Arithmetic::bf16));
  const auto left = remove_heads(layer, Heads{0, 3, 5}).value();
  EXPECT_EQ(left.config().arithmetic, Arithmetic::bf16);
  EXPECT_TRUE(same_params(left, want));
}

TEST(RemovedHeadsTest, WhatWasKeptForInferenceAloneIsAnError) {
  const auto for_inference = [](std::size_t heads) {
    const auto linear = [](std::size_t out, std::size_t in) {
      return Linear::from_params(uniform<2>({out, in}, 50),
                                 uniform<1>({out}, 51))
          .value()
          .for_inference();
    };
    return MultiHeadAttention::from_params(
               {linear(heads * 3, 6), linear(heads * 3, 6),
                linear(heads * 3, 6), linear(6, heads * 3)},
               heads)
        .value();
  };
  for (const std::size_t heads : {2u, 0u}) {
    EXPECT_THAT(
        remove_heads(for_inference(heads), {}),
        IsRefused(ErrorCode::unsupported, "layer", {"parameters"}, {"trained"}))
        << heads;
  }
}

}  // namespace
}  // namespace headwise::testing_support
