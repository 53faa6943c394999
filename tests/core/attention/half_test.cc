// Calls on 16-bit tensors give what the same numbers give as floats, each
// element of the output and of the gradients of query, key and value rounded
// once to nearest even. The random calls try it with all options together.

#include <cstdint>
#include <string>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/plan.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Options {
  AttentionOptions attention;
  OperationOptions operation{};
};

template <class T>
Inputs<T> narrowed_inputs(const Inputs<float>& in) {
  return {narrowed_to<T>(in.query), narrowed_to<T>(in.key),
          narrowed_to<T>(in.value)};
}
template <class T>
Inputs<float> rounded_inputs(const Inputs<float>& in) {
  return {rounded_to<T>(in.query), rounded_to<T>(in.key),
          rounded_to<T>(in.value)};
}

// Forward and backward of a call whose query, key, value and output are of T.
struct Results {
  Outputs<float> out;  // the output widened
  Gradients<float> gradients;
};

template <class T>
Tensor<float, 4> rows_for(const Inputs<T>& in) {
  const auto [B, Lq, Hq, D] = in.query.extents();
  return Tensor<float, 4>::create({B, Hq, Lq, 2}).value();
}

TensorView<const float, 4> given(const Tensor<float, 4>& d_attn_weights) {
  return d_attn_weights.size() == 0 ? TensorView<const float, 4>()
                                    : d_attn_weights.view();
}

template <class T>
Results results_of(const Inputs<float>& floats, const Upstream<float>& upstream,
                   const Options& options) {
  const Inputs<T> in = narrowed_inputs<T>(floats);
  auto out = outputs_for(floats, options.attention, options.operation);
  auto output = narrowed_to<T>(out.output);
  auto rows = rows_for(in);
  EXPECT_TRUE(attention(in.query, in.key, in.value,
                        AttentionOutputsOf<T>{.output = output,
                                              .attn_weights = out.attn_weights,
                                              .lse = out.lse,
                                              .softmax_rows = rows,
                                              .scores = out.scores},
                        options.attention, options.operation));
  out.output = widened_to_float(output);
  auto gradients = gradients_for(floats, options.attention, options.operation);
  auto d_query = narrowed_to<T>(gradients.query);
  auto d_key = narrowed_to<T>(gradients.key);
  auto d_value = narrowed_to<T>(gradients.value);
  const auto d_output = narrowed_to<T>(upstream.d_output);
  const AttentionGradients others = gradients.views();
  EXPECT_TRUE(attention_backward(
      BackwardInputsOf<T>{in.query, in.key, in.value, view_of(output),
                          view_of(rows), d_output,
                          given(upstream.d_attn_weights)},
      AttentionGradientsOf<T>{d_query, d_key, d_value, others.bias,
                              others.t5_bias, others.alibi, others.score_weight,
                              others.sinks, others.bias_k, others.bias_v},
      options.attention, options.operation));
  gradients.query = widened_to_float(d_query);
  gradients.key = widened_to_float(d_key);
  gradients.value = widened_to_float(d_value);
  return {std::move(out), std::move(gradients)};
}

// The same numbers as floats; what T has is rounded once.
template <class T>
Results rounded_results(const Inputs<float>& floats,
                        const Upstream<float>& upstream,
                        const Options& options) {
  const Inputs<float> in = rounded_inputs<T>(floats);
  auto out = outputs_for(in, options.attention, options.operation);
  auto rows = rows_for(in);
  EXPECT_TRUE(attention(in.query, in.key, in.value,
                        AttentionOutputs{.output = out.output,
                                         .attn_weights = out.attn_weights,
                                         .lse = out.lse,
                                         .softmax_rows = rows,
                                         .scores = out.scores},
                        options.attention, options.operation));
  out.output = rounded_to<T>(out.output);
  auto gradients = gradients_for(in, options.attention, options.operation);
  const auto d_output = rounded_to<T>(upstream.d_output);
  EXPECT_TRUE(attention_backward(
      BackwardInputs{in.query, in.key, in.value, view_of(out.output),
                     view_of(rows), d_output, given(upstream.d_attn_weights)},
      gradients.views(), options.attention, options.operation));
  for (Tensor<float, 4>* x :
       {&gradients.query, &gradients.key, &gradients.value}) {
    *x = rounded_to<T>(*x);
  }
  return {std::move(out), std::move(gradients)};
}

template <class T>
void expect_rounded_once(const Inputs<float>& in,
                         const Upstream<float>& upstream,
                         const Options& options, const std::string& name) {
  const Results got = results_of<T>(in, upstream, options);
  const Results want = rounded_results<T>(in, upstream, options);
  EXPECT_TRUE(same_bits(got.out, want.out)) << name;
  EXPECT_TRUE(same_bits(got.gradients, want.gradients)) << name;
}

class HalfAttentionTest : public TargetTest {};

TEST_P(HalfAttentionTest, EveryOptionGivesTheFloatCallRoundedOnce) {
  const Inputs<float> in = random_inputs(kSmall, 4100);
  const EveryMask every_mask(kSmall, true);
  for (const auto& [name, options, operation] : every_options(every_mask)) {
    const Upstream<float> upstream =
        random_upstream(in, options, 4110, operation);
    expect_rounded_once<BFloat16>(in, upstream, {options, operation}, name);
    expect_rounded_once<Float16>(in, upstream, {options, operation}, name);
  }
}

TEST_P(HalfAttentionTest, SeveralBlocksAndPaddedSizesToo) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 51, .Lkv = 131, .D = 19, .Dv = 21};
  const Inputs<float> in = random_inputs(shape, 4120);
  const Options options = {{.mask = causal(), .query_start = 80}};
  const Upstream<float> upstream = random_upstream(in, options.attention, 4130);
  expect_rounded_once<BFloat16>(in, upstream, options, "bfloat16");
  expect_rounded_once<Float16>(in, upstream, options, "float16");
}

// A value of NaN makes the rows that see it NaN and no other, one too large
// for the type makes them infinite, and denormal numbers are what the type's
// narrowing says.
TEST_P(HalfAttentionTest, NumbersAtTheEndsOfTheRange) {
  const AttentionShape shape = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 4, .Lkv = 4, .D = 4, .Dv = 6};
  Inputs<float> in = random_inputs(shape, 4140);
  const float values[] = {kNaN,       -INFINITY, 0x1p-24F,
                          0x1.8p-20F, 0x1p-133F, 60000};
  for (std::size_t c = 0; c < shape.Dv; ++c) {
    for (std::size_t j = 0; j < shape.Lkv; ++j) {
      in.value(0, j, 0, c) = values[c];
    }
  }
  const Options options = {
      {.dropout = {.p = 0.5, .training = true, .seed = Seed{3}}}};
  const Upstream<float> upstream = {uniform<4>({1, 4, 1, 6}, 4150), {}};
  expect_rounded_once<BFloat16>(in, upstream, options, "bfloat16");
  expect_rounded_once<Float16>(in, upstream, options, "float16");
  const Results of_bfloat16 =
      results_of<BFloat16>(in, upstream, {{.mask = causal()}});
  const Results of_float16 =
      results_of<Float16>(in, upstream, {{.mask = causal()}});
  const auto first = [](const Results& results, std::size_t c) {
    return results.out.output(0, 0, 0, c);
  };
  EXPECT_TRUE(std::isnan(first(of_bfloat16, 0)));
  EXPECT_TRUE(std::isnan(first(of_float16, 0)));
  EXPECT_EQ(first(of_bfloat16, 1), -INFINITY);
  EXPECT_EQ(first(of_float16, 1), -INFINITY);
  EXPECT_EQ(first(of_float16, 2), 0x1p-24F);
  EXPECT_EQ(first(of_float16, 3), 0x1.8p-20F);
  EXPECT_EQ(first(of_bfloat16, 4), 0);
}

TEST_P(HalfAttentionTest, WhatIsTooLargeBecomesInfinite) {
  const Tensor<Float16, 4> x =
      narrowed_to<Float16>(filled<float, 4>({1, 1, 1, 4}, 50000));
  auto output = Tensor<Float16, 4>::create({1, 1, 1, 4}).value();
  // With this seed the only weight is kept, and doubled.
  for (std::uint64_t seed = 0;; ++seed) {
    ASSERT_LT(seed, 64u);
    ASSERT_TRUE(attention(
        x, x, x, output,
        {.scale = 0x1p-30,
         .dropout = {.p = 0.5, .training = true, .seed = Seed{seed}}}));
    if (output(0, 0, 0, 0).bits != 0) {
      break;
    }
  }
  for (const Float16 y : output.elements()) {
    EXPECT_EQ(y.bits, 0x7c00);
  }
}

TEST_P(HalfAttentionTest, OnePlanRunsEveryType) {
  const AttentionOptions options = {.mask = causal()};
  const auto plan = AttentionPlan::create(kSmall, options).value();
  auto workspace = Workspace::create(plan.workspace_bytes()).value();
  const Inputs<float> in = random_inputs(kSmall, 4160);
  const Extents<4> extents = {kSmall.B, kSmall.Lq, kSmall.Hq, kSmall.Dv};
  const auto run = [&](auto number) {
    using T = decltype(number);
    const Inputs<T> narrow = narrowed_inputs<T>(in);
    auto output = Tensor<T, 4>::create(extents).value();
    auto again = Tensor<T, 4>::create(extents).value();
    EXPECT_TRUE(plan.run(narrow.query, narrow.key, narrow.value,
                         AttentionOutputsOf<T>{output}, workspace));
    EXPECT_TRUE(
        attention(narrow.query, narrow.key, narrow.value, again, options));
    EXPECT_TRUE(same_bits(widened_to_float(output), widened_to_float(again)));
    auto want = filled<float, 4>(extents, 42);
    const Inputs<float> wide = rounded_inputs<T>(in);
    EXPECT_TRUE(attention(wide.query, wide.key, wide.value, want, options));
    EXPECT_TRUE(same_bits(widened_to_float(output), rounded_to<T>(want)));
  };
  run(float());
  run(BFloat16());
  run(Float16());
}

// Everything is checked as for floats, before anything is written.
TEST_P(HalfAttentionTest, ErrorsAreThoseOfFloats) {
  const auto x = narrowed_to<BFloat16>(uniform<3>({2, 3, 4}, 4170));
  const auto short_key = narrowed_to<BFloat16>(uniform<3>({2, 3, 5}, 4171));
  auto output = narrowed_to<BFloat16>(filled<float, 3>({2, 3, 4}, 42));
  EXPECT_FALSE(attention(x, short_key, x, output));
  EXPECT_FALSE(attention(x, x, x, output, {.scale = kNaN}));
  EXPECT_THAT(widened_to_float(output).elements(), Each(42.0F));
  auto shared = narrowed_to<BFloat16>(uniform<3>({2, 3, 4}, 4172));
  EXPECT_FALSE(attention(x, shared, x, shared));
}

INSTANTIATE_TEST_SUITE_P(Targets, HalfAttentionTest,
                         testing::ValuesIn(targets()), target_name);

}  // namespace
}  // namespace headwise::testing_support
