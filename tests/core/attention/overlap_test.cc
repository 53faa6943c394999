// An output in the memory of another tensor is an error, and nothing was
// written; views that interleave are not.

#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/scores.h"
#include "headwise/steps/softmax.h"
#include "headwise/steps/weigh.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 5, .Lkv = 5, .D = 4, .Dv = 4};

std::string in_memory(std::string_view operation, std::string_view output,
                      std::string_view of) {
  return std::string(operation) + ": " + std::string(output) +
         " is in the memory of " + std::string(of) +
         ", expected memory of its own";
}

void expect_refused(const Status& s, const std::string& message) {
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(s.error().message(), message);
}

TEST(OverlapTest, OfTheOutputAndAnInputIsAnError) {
  const Inputs<float> clean = random_inputs(kShape, 1);
  for (const auto& [name, part] : {std::pair("query", &Inputs<float>::query),
                                   {"key", &Inputs<float>::key},
                                   {"value", &Inputs<float>::value}}) {
    Inputs<float> in = clone(clean);
    const std::string message = in_memory("attention", "output", name);
    const auto q = view_of(in.query);
    const auto k = view_of(in.key);
    const auto v = view_of(in.value);
    const auto output = (in.*part).view();
    expect_refused(attention(q, k, v, output), message);
    expect_refused(
        AttentionPlan::create(kShape, {}).value().run(q, k, v, {output}),
        message);
    expect_refused(reference_attention<float>(q, k, v, {output}), message);
    const auto statistics = attention_statistics(
        q, k, v, {output}, {}, {.statistics = {.rows = true}});
    ASSERT_FALSE(statistics);
    EXPECT_EQ(statistics.error().message(), message);
    EXPECT_TRUE(same_bits(in.*part, clean.*part));
  }
}

TEST(OverlapTest, OfTwoOutputsIsAnError) {
  const Inputs<float> in = random_inputs(kShape, 2);
  auto out = outputs_for(in, AttnWeights::none);
  AttentionOutputs outputs = out.views();
  outputs.lse = {out.output.data() + 79, {2, 2, 5}};
  expect_refused(attention(in.query, in.key, in.value, outputs, {}),
                 in_memory("attention", "lse", "output"));
  outputs.lse = out.lse;
  outputs.attn_weights = {out.output.data(), {2, 2, 5, 5}};
  expect_refused(attention(in.query, in.key, in.value, outputs,
                           {.attn_weights = AttnWeights::per_head}),
                 in_memory("attention", "attn_weights", "output"));
  outputs.attn_weights = {};
  outputs.scores = {out.output.data(), {2, 2, 5, 5}};
  expect_refused(attention(in.query, in.key, in.value, outputs,
                           {.scores = ScoresStage::raw}),
                 in_memory("attention", "scores", "output"));
}

TEST(OverlapTest, OfAnOutputAndATermOfTheScoresIsAnError) {
  const Inputs<float> in = random_inputs(kShape, 3);
  auto out = outputs_for(in, AttnWeights::none);
  AttentionOptions options;
  options.bias = dense(TensorView<const float, 2>(out.output.data(), {5, 5}),
                       {Axis::Lq, Axis::Lkv});
  expect_refused(attention(in.query, in.key, in.value, out.output, options),
                 in_memory("attention", "output", "bias"));
  options = {};
  options.alibi = {out.lse.data(), {2}};
  expect_refused(attention(in.query, in.key, in.value, out.views(), options),
                 in_memory("attention", "lse", "alibi"));
  options = {};
  options.t5_bias = {.table = {out.output.data(), {8, 2}}};
  expect_refused(attention(in.query, in.key, in.value, out.output, options),
                 in_memory("attention", "output", "t5_bias.table"));
  options = {};
  options.sinks = {out.lse.data(), {2}};
  expect_refused(attention(in.query, in.key, in.value, out.views(), options),
                 in_memory("attention", "lse", "sinks"));
  OperationOptions operation_options;
  operation_options.added_keys = {{out.output.data(), {2, 4}},
                                  {in.value.data(), {2, 4}}};
  expect_refused(
      attention(in.query, in.key, in.value, out.output, {}, operation_options),
      in_memory("attention", "output", "added_keys.bias_k"));
}

TEST(OverlapTest, OfARepeatedOutputIsAnError) {
  const Inputs<float> in = random_inputs(kShape, 4);
  auto out = outputs_for(in, AttnWeights::none);
  const TensorView<float, 4> repeated(out.output.data(), {2, 5, 2, 4},
                                      {0, 8, 4, 1});
  expect_refused(
      attention(in.query, in.key, in.value, repeated),
      "attention: output is a view whose elements share memory, expected an "
      "element of memory for each");
}

// Query, key, value and output are (B, L, 4, H, D), as one projection gives
// them.
TEST(OverlapTest, TensorsOfOneProjectionDoNot) {
  const Inputs<float> apart = random_inputs(kShape, 5);
  auto memory = filled<float, 1>({2 * 5 * 4 * 8}, 42);
  const auto part = [&](std::ptrdiff_t n) {
    return TensorView<float, 4>(memory.data() + n * 8, {2, 5, 2, 4},
                                {160, 32, 4, 1});
  };
  for (std::size_t n = 0; n < apart.query.size(); ++n) {
    const std::size_t row = n / 8;
    memory(row * 32 + n % 8) = apart.query.data()[n];
    memory(row * 32 + 8 + n % 8) = apart.key.data()[n];
    memory(row * 32 + 16 + n % 8) = apart.value.data()[n];
  }
  ASSERT_TRUE(attention(part(0), part(1), part(2), part(3)));
  const auto want = attend(apart);
  for (std::size_t n = 0; n < apart.query.size(); ++n) {
    EXPECT_EQ(memory(n / 8 * 32 + 24 + n % 8), want.output.data()[n]);
  }
}

TEST(OverlapTest, OfAGradientAndAnotherTensorIsAnError) {
  Inputs<float> in = random_inputs(kShape, 6);
  const auto upstream = random_upstream(in, {}, 7);
  const auto out = attend(in);
  const auto rows = filled<float, 4>({2, 2, 5, 2}, 1);
  Gradients<float> gradients = gradients_for(in, {}, {});
  const BackwardInputs inputs = {in.query,      in.key,
                                 in.value,      view_of(out.output),
                                 view_of(rows), upstream.d_output};
  const auto refused = [&](const AttentionGradients& wanted,
                           const std::string& message) {
    expect_refused(attention_backward(inputs, wanted), message);
    expect_refused(reference_attention_backward<float>(inputs, wanted),
                   message);
    EXPECT_EQ(gradients.query(0, 0, 0, 0), 42);
  };
  refused({.query = gradients.query, .key = gradients.query},
          in_memory("attention_backward", "d_key", "d_query"));
  refused({.query = gradients.query, .value = in.value},
          in_memory("attention_backward", "d_value", "value"));
}

// Each step that writes what its caller gave it.
TEST(OverlapTest, OfAStepsOutputAndItsInputIsAnError) {
  const Executor& executor = Executor::default_executor();
  auto memory = uniform<4>({2, 5, 2, 6}, 8);
  const TensorView<float, 4> heads(memory.data(), {2, 5, 2, 5});
  const TensorView<const float, 4> in = heads;
  const TensorView<float, 4> rows(memory.data(), {2, 2, 5, 5});
  const TensorView<float, 4> later(memory.data() + 3, {2, 2, 5, 5});
  auto lse = filled<float, 3>({2, 2, 5}, 0);
  const BoundMask all =
      BoundMask::bind({}, {kShape, QueryStart(0), "test"}).value();
  const BoundDropout dropout =
      BoundDropout::bind({}, {kShape, QueryStart(0), "test"}).value();
  const auto slopes = filled<float, 1>({2}, 1);
  const BoundAlibi alibi =
      BoundAlibi::bind(slopes, {kShape, QueryStart(0), "test"}).value();
  const auto table = filled<float, 2>({8, 2}, 1);
  const BoundT5Bias t5_bias =
      BoundT5Bias::bind({.table = table}, {kShape, QueryStart(0), "test"})
          .value();
  const auto bias_of_all = filled<float, 2>({5, 5}, 1);
  const BoundBias bias =
      BoundBias::bind(dense(view_of(bias_of_all), {Axis::Lq, Axis::Lkv}),
                      {kShape, {}, "test"})
          .value();
  const std::vector<std::pair<std::string, Status>> cases = {
      {"scores", scores(in, {in, {}}, 1, rows, executor)},
      {"additive_scores",
       additive_scores(in, {in, {}}, {memory.data(), {2, 5}}, rows, executor)},
      {"apply_softcap", apply_softcap(rows, 1, later, executor)},
      {"add_bias", add_bias(rows, bias, later, executor)},
      {"add_t5_bias", add_t5_bias(rows, t5_bias, later, executor)},
      {"add_alibi", add_alibi(rows, alibi, later, executor)},
      {"apply_mask", apply_mask(rows, all, later)},
      {"softmax", softmax(rows, EmptyRow::zero, later, lse, executor)},
      {"apply_dropout", apply_dropout(rows, dropout, later)},
      {"weigh",
       weigh(rows, {in, {}}, all, lse, EmptyRow::zero, heads, executor)},
      {"average_heads", average_heads(rows, {memory.data(), {2, 1, 5, 5}})}};
  for (const auto& [name, status] : cases) {
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument) << name;
    EXPECT_THAT(status.error().message(),
                testing::AllOf(testing::StartsWith(name + ": "),
                               testing::HasSubstr("is in the memory of")));
  }
}

}  // namespace
}  // namespace headwise::testing_support
