// Hooks that see, or change, the heads inside a call of the layer.

#include <vector>

#include "module/layer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const MultiHeadAttentionConfig kGrouped = {
    .embed_dim = 12, .num_heads = 4, .num_kv_heads = 2, .head_dim = 5};

Tensor<float, 4> copy_of(TensorView<const float, 4> x) {
  auto copy = Tensor<float, 4>::create(x.extents()).value();
  const auto [B, L, H, D] = x.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t d = 0; d < D; ++d) {
          copy(b, l, h, d) = x(b, l, h, d);
        }
      }
    }
  }
  return copy;
}

void fill_head(TensorView<float, 4> context, std::size_t h, float value) {
  const auto [B, L, H, D] = context.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t d = 0; d < D; ++d) {
        context(b, l, h, d) = value;
      }
    }
  }
}

TEST(HeadHooksTest, HooksThatOnlyLookChangeNoBit) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 1);
  std::size_t seen = 0;
  const HeadHooks hooks{
      .edit =
          [&](const HeadContext& heads) {
            EXPECT_EQ(heads.value.extents(), (Extents<4>{2, 6, 2, 5}));
            EXPECT_EQ(heads.context.extents(), (Extents<4>{2, 6, 4, 5}));
            ++seen;
            return ok();
          },
      .see =
          [&](TensorView<const float, 4>) {
            ++seen;
            return ok();
          }};
  EXPECT_TRUE(
      same_bits(forward_of(layer, x, {}, {.hooks = &hooks}).output.elements(),
                forward_of(layer, x).output.elements()));
  EXPECT_EQ(seen, 2);
}

TEST(HeadHooksTest, AHeadFilledWithZeroIsOneWithAGateOfZero) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 2);
  const auto gates = tensor_of<float, 1>({4}, {1, 1, 0, 1});
  const HeadHooks hooks{.edit = [](const HeadContext& heads) {
    fill_head(heads.context, 2, 0.0f);
    return ok();
  }};
  EXPECT_TRUE(
      same_bits(forward_of(layer, x, {}, {.hooks = &hooks}).output.elements(),
                forward_of(layer, x, {}, {.head_gates = gates.view()})
                    .output.elements()));
}

TEST(HeadHooksTest, TheHooksComeBeforeTheGates) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 3);
  const auto gates = tensor_of<float, 1>({4}, {1, 0.5, 0, -2});
  Tensor<float, 4> gated;
  Tensor<float, 4> plain;
  const auto seeing = [](Tensor<float, 4>& into) {
    return HeadHooks{.see = [&into](TensorView<const float, 4> context) {
      into = copy_of(context);
      return ok();
    }};
  };
  const HeadHooks first = seeing(gated);
  const HeadHooks second = seeing(plain);
  (void)forward_of(layer, x, {}, {.head_gates = gates.view(), .hooks = &first});
  (void)forward_of(layer, x, {}, {.hooks = &second});
  EXPECT_TRUE(same_bits(gated.elements(), plain.elements()));
}

// The loss is linear in the context, so its gradient is exact.
TEST(HeadHooksTest, TheGradientIsThatByTheContext) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({2, 6, 12}, 4);
  const auto d_output = uniform<3>({2, 6, 12}, 5);
  const auto gates = tensor_of<float, 1>({4}, {1, 0.5, 0, -2});
  Tensor<float, 4> d_context;
  const HeadHooks hooks{.see_gradient = [&](TensorView<const float, 4> d) {
    d_context = copy_of(d);
    return ok();
  }};
  const LayerOptions with = {.head_gates = gates.view(), .hooks = &hooks};
  auto saved =
      layer.forward_for_backward(x.view(), x.view(), x.view(), {}, with)
          .value();
  ASSERT_TRUE(layer.backward(saved, d_output.view()));
  ASSERT_EQ(d_context.extents(), (Extents<4>{2, 6, 4, 5}));
  const auto loss_with = [&](float added) {
    const HeadHooks moved{.edit = [added](const HeadContext& heads) {
      heads.context(1, 4, 1, 3) += added;
      return ok();
    }};
    const auto output =
        forward_of(layer, x, {}, {.head_gates = gates.view(), .hooks = &moved})
            .output;
    double loss = 0;
    for (std::size_t n = 0; n < output.size(); ++n) {
      loss += static_cast<double>(output.data()[n]) *
              static_cast<double>(d_output.data()[n]);
    }
    return loss;
  };
  EXPECT_NEAR(static_cast<double>(d_context(1, 4, 1, 3)),
              (loss_with(4) - loss_with(-4)) / 8, 2e-6);
}

TEST(HeadHooksTest, WithoutAnOutputProjectionTheGradientIsThatOfTheOutput) {
  const MultiHeadAttention layer =
      layer_of({.embed_dim = 8, .num_heads = 2, .out_proj = false});
  const auto x = uniform<3>({1, 5, 8}, 6);
  const auto d_output = uniform<3>({1, 5, 8}, 7);
  Tensor<float, 4> d_context;
  const HeadHooks hooks{.see_gradient = [&](TensorView<const float, 4> d) {
    d_context = copy_of(d);
    return ok();
  }};
  auto saved = layer
                   .forward_for_backward(x.view(), x.view(), x.view(), {},
                                         {.hooks = &hooks})
                   .value();
  ASSERT_TRUE(layer.backward(saved, d_output.view()));
  EXPECT_TRUE(same_bits(d_context.elements(), d_output.elements()));
}

TEST(HeadHooksTest, AnErrorOfAHookEndsTheCall) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 3, 12}, 8);
  const Error stop(ErrorCode::io_error,
                   ErrorDetails{.operation = "hook", .given = "stops"});
  const HeadHooks edits{
      .edit = [&](const HeadContext&) { return Status(stop); }};
  const HeadHooks sees{
      .see = [&](TensorView<const float, 4>) { return Status(stop); }};
  for (const HeadHooks* hooks : {&edits, &sees}) {
    EXPECT_THAT(
        layer.forward(x.view(), x.view(), x.view(), {}, {.hooks = hooks}),
        HasError({.code = ErrorCode::io_error}));
  }
}

TEST(HeadHooksTest, TrainingRefusesEditsAndTraces) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 3, 12}, 9);
  RecordedTrace trace;
  const HeadHooks edits{.edit = [](const HeadContext&) { return ok(); }};
  const HeadHooks traces{.trace = &trace};
  for (const auto& [hooks, argument] :
       {std::pair(&edits, "hooks.edit"), {&traces, "hooks.trace"}}) {
    EXPECT_THAT(
        layer.forward_for_backward(x.view(), x.view(), x.view(), {},
                                   {.hooks = hooks}),
        HasError({.code = ErrorCode::invalid_argument, .argument = argument}));
  }
}

TEST(HeadHooksTest, TheInputsAreThoseThatAreCompared) {
  MultiHeadAttentionConfig config = kGrouped;
  config.head_dim = 6;
  config.rotary = Rotary::create({.rotary_dim = 6, .base = 100}).value();
  const MultiHeadAttention layer = layer_of(config);
  const auto x = uniform<3>({1, 3, 12}, 12);
  RecordedTrace steps;
  Tensor<float, 4> query;
  const HeadHooks hooks{
      .see_inputs =
          [&](const HookedHeads& heads) {
            query = copy_of(heads.query);
            EXPECT_EQ(heads.key.extents(), (Extents<4>{1, 3, 2, 6}));
            EXPECT_EQ(heads.value.extents(), (Extents<4>{1, 3, 2, 6}));
            return ok();
          },
      .trace = &steps};
  const auto seen = forward_of(layer, x, {}, {.hooks = &hooks});
  EXPECT_TRUE(same_bits(seen.output, forward_of(layer, x).output));
  const RecordedStep* const rotated = steps.find("q_rotated");
  ASSERT_NE(rotated, nullptr);
  ASSERT_EQ(rotated->extents, (std::vector<std::size_t>{1, 4, 3, 6}));
  for (std::size_t n = 0; n < rotated->elements.size(); ++n) {
    EXPECT_EQ(query(0, n / 6 % 3, n / 18, n % 6), rotated->elements[n]);
  }
}

TEST(HeadHooksTest, ACallHasOneTrace) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto x = uniform<3>({1, 3, 12}, 13);
  RecordedTrace trace;
  const HeadHooks hooks{.trace = &trace};
  EXPECT_THAT(layer.forward(x.view(), x.view(), x.view(), {}, {.hooks = &hooks},
                            &trace),
              HasError({.code = ErrorCode::invalid_argument,
                        .argument = "hooks.trace"}));
}

TEST(HeadHooksTest, ACacheShowsTheNewTokens) {
  const MultiHeadAttention layer = layer_of({.embed_dim = 8, .num_heads = 2});
  auto cache = KvCache::create({.num_kv_heads = 2,
                                .head_dim = 4,
                                .max_tokens = 64,
                                .max_sequences = 1})
                   .value();
  const std::vector<SequenceId> ids = {cache.add().value()};
  const auto x = uniform<3>({1, 3, 8}, 10);
  std::vector<Extents<4>> seen;
  const HeadHooks hooks{.edit = [&](const HeadContext& heads) {
    seen.push_back(heads.value.extents());
    fill_head(heads.context, 0, 0.0f);
    fill_head(heads.context, 1, 0.0f);
    return ok();
  }};
  const auto first = forward_of(
      layer, x, {}, {.cache = &cache, .sequences = ids, .hooks = &hooks});
  EXPECT_THAT(seen, testing::ElementsAre(Extents<4>{1, 3, 2, 4}));
  // Only the bias of w_o is left.
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t e = 0; e < 8; ++e) {
      EXPECT_EQ(first.output(0, l, e), layer.params()->w_o->bias()(e));
    }
  }
}

TEST(HeadHooksTest, ALayerWithoutHeadsCallsNone) {
  auto zero = [](std::size_t out, std::size_t in) {
    return Linear::from_params(filled<float, 2>({out, in}, 0),
                               filled<float, 1>({out}, 0))
        .value();
  };
  const MultiHeadAttention layer =
      MultiHeadAttention::from_params({.w_q = zero(0, 4),
                                       .w_k = zero(0, 4),
                                       .w_v = zero(0, 4),
                                       .w_o = zero(4, 0)},
                                      0)
          .value();
  const HeadHooks hooks{.edit = [](const HeadContext&) {
    ADD_FAILURE() << "called";
    return ok();
  }};
  (void)forward_of(layer, uniform<3>({1, 3, 4}, 11), {}, {.hooks = &hooks});
}

}  // namespace
}  // namespace headwise::testing_support
