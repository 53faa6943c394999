#include "headwise/attention/stepwise.h"

#include <cmath>
#include <string>

#include "attention/attention_call.h"
#include "headwise/steps/scores.h"
#include "support/matchers.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using testing::Contains;

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 140, .D = 8, .Dv = 6};

TEST(StepwiseTest, MatchesAttentionForEveryMask) {
  const Inputs<float> in = random_inputs(kShape, 600);
  const EveryMask every_mask(kShape, true);
  for (const auto& [name, mask] : every_mask.masks()) {
    for (const EmptyRow empty_rows :
         {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
      SCOPED_TRACE(name);
      const AttentionOptions options = {.mask = mask,
                                        .query_start = -1,
                                        .empty_rows = empty_rows,
                                        .attn_weights = AttnWeights::per_head};
      const AttentionSteps steps = stepwise(in, options);
      const Outputs<float> want = attend(in, options);
      EXPECT_TRUE(all_near(steps.context, want.output, 4e-6));
      EXPECT_TRUE(all_near(steps.attn_weights, want.attn_weights, 4e-6));
      EXPECT_TRUE(all_near(steps.lse, want.lse, 4e-6));
    }
  }
}

TEST(StepwiseTest, MatchesAttentionWithDropout) {
  const Inputs<float> in = random_inputs(kShape, 610);
  AttentionOptions options = {
      .mask = causal(),
      .dropout = {.p = 0.3, .training = true, .seed = Seed{4}},
      .attn_weights = AttnWeights::after_dropout};
  const AttentionSteps steps = stepwise(in, options);
  const Outputs<float> after = attend(in, options);
  EXPECT_TRUE(all_near(steps.context, after.output, 4e-6));
  EXPECT_TRUE(all_near(steps.dropped_weights, after.attn_weights, 4e-6));
  options.attn_weights = AttnWeights::per_head;
  EXPECT_TRUE(
      all_near(steps.attn_weights, attend(in, options).attn_weights, 4e-6));
}

// The steps of a call, which come near the call itself.
AttentionSteps steps_near(const Inputs<float>& in, const OptionsCase& given,
                          TraceSink* trace = nullptr) {
  AttentionOptions per_head = given.options;
  per_head.attn_weights = AttnWeights::per_head;
  AttentionSteps steps = stepwise(in, per_head, given.operation_options, trace);
  const Outputs<float> want = attend(in, per_head, given.operation_options);
  EXPECT_TRUE(all_near(steps.context, want.output, 8e-6));
  EXPECT_TRUE(all_near(steps.attn_weights, want.attn_weights, 4e-6));
  EXPECT_TRUE(all_near(steps.lse, want.lse, 4e-6));
  return steps;
}

TEST(StepwiseTest, MatchesAttentionForEveryScoreTerm) {
  const Inputs<float> in = random_inputs(kShape, 615);
  const EveryMask every_mask(kShape, true);
  for (const OptionsCase& given : every_score_term(
           every_mask.biases(), every_mask.masks().back().second)) {
    SCOPED_TRACE(given.name);
    steps_near(in, given);
  }
}

TEST(StepwiseTest, MatchesAttentionForEverySinkOption) {
  const Inputs<float> in = random_inputs(kShape, 618);
  const EveryMask every_mask(kShape, true);
  for (const OptionsCase& given : every_sink_option(
           every_mask.biases(), every_mask.masks().back().second)) {
    SCOPED_TRACE(given.name);
    RecordedTrace trace;
    steps_near(in, given, &trace);
    ASSERT_NE(trace.find("sinks"), nullptr);
    EXPECT_THAT(trace.find("sinks")->axes, ElementsAre("H"));
  }
}

TEST(StepwiseTest, MatchesAttentionForEveryAddedKey) {
  const Inputs<float> in = random_inputs(kShape, 619);
  const EveryMask every_mask(kShape, true);
  for (const OptionsCase& given : every_added_option(
           every_mask.biases(), every_mask.masks().back().second)) {
    SCOPED_TRACE(given.name);
    RecordedTrace trace;
    steps_near(in, given, &trace);
    const AddedKeys& added = given.operation_options.added_keys;
    const bool learned = added.bias_k.data() != nullptr;
    const std::string columns = learned && added.zero_attn ? "Lkv+2" : "Lkv+1";
    EXPECT_EQ(trace.find("bias_k") != nullptr, learned);
    for (const char* name : {"k_added", "v_added", "scores"}) {
      ASSERT_NE(trace.find(name), nullptr);
      EXPECT_THAT(trace.find(name)->axes, Contains(columns)) << name;
    }
  }
}

TEST(StepwiseTest, MatchesAttentionForEveryAdditiveOption) {
  const Inputs<float> in = random_inputs(kShape, 617);
  const EveryMask every_mask(kShape, true);
  for (const OptionsCase& given :
       every_additive_option(every_mask, every_mask.masks().back().second)) {
    SCOPED_TRACE(given.name);
    const AttentionSteps steps = steps_near(in, given);
    if (given.operation_options.added_keys.zero_attn) {
      continue;  // whose scores are columns behind those of the keys
    }
    auto scores = filled<float, 4>(steps.scores.extents(), 42);
    EXPECT_TRUE(additive_scores(in.query, in.key, every_mask.score_weight(),
                                scores, Executor::default_executor()));
    EXPECT_TRUE(same_bits(steps.scores, scores));
  }
}

TEST(StepwiseTest, TheTermsComeOneAfterTheOther) {
  const Inputs<float> in = random_inputs(kShape, 616);
  const EveryBias every(kShape);
  const Bias bias = every.biases().front().second;
  RecordedTrace trace;
  const AttentionSteps steps = stepwise(in,
                                        {.softcap = 0.5,
                                         .bias = bias,
                                         .t5_bias = every.t5_bias(true),
                                         .alibi = every.slopes()},
                                        {}, &trace);
  EXPECT_THAT(
      trace.names(),
      ElementsAre("scores", "capped_scores", "biased_scores", "t5_scores",
                  "alibi_scores", "attn_weights", "context"));
  EXPECT_THAT(trace.find("alibi_scores")->axes,
              ElementsAre("B", "H", "Lq", "Lkv"));
  const BoundBias bound = BoundBias::bind(bias, {kShape, {}, "test"}).value();
  const BoundT5Bias t5 =
      BoundT5Bias::bind(every.t5_bias(true), {kShape, {}, "test"}).value();
  for (std::size_t j = 0; j < 140; ++j) {
    const float capped = 0.5F * std::tanh(steps.scores(1, 2, 3, j) / 0.5F);
    EXPECT_NEAR(steps.capped_scores(1, 2, 3, j), capped, 1e-6);
    EXPECT_EQ(steps.biased_scores(1, 2, 3, j),
              steps.capped_scores(1, 2, 3, j) + bound(1, 2, 3, j));
    EXPECT_EQ(steps.t5_scores(1, 2, 3, j),
              steps.biased_scores(1, 2, 3, j) + t5(2, t5.offset(1, 3, j)));
    const float distance = std::abs(3 - static_cast<float>(j));
    EXPECT_EQ(steps.alibi_scores(1, 2, 3, j),
              steps.t5_scores(1, 2, 3, j) - every.slopes()(2) * distance);
    EXPECT_EQ(trace.find("biased_scores")->elements[(6 * 5 + 3) * 140 + j],
              steps.biased_scores(1, 2, 3, j));
  }
}

TEST(StepwiseTest, HasTheSameBitsOnAnyNumberOfThreads) {
  const Inputs<float> in = random_inputs(kShape, 620);
  const AttentionSteps want = stepwise(in, {.mask = causal()});
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    const AttentionSteps steps =
        stepwise(in, {.mask = causal(), .executor = &executor});
    EXPECT_TRUE(same_bits(steps.scores, want.scores));
    EXPECT_TRUE(same_bits(steps.context, want.context));
  }
}

TEST(StepwiseTest, TheScoresAreScaledAndTheMaskedOnesMinusInfinity) {
  const Inputs<float> in = random_inputs(kShape, 630);
  const AttentionSteps steps = stepwise(in, {.mask = causal(), .scale = 0.5});
  auto want = filled<float, 4>(steps.scores.extents(), 42);
  EXPECT_TRUE(
      scores(in.query, in.key, 0.5, want, Executor::default_executor()));
  EXPECT_TRUE(same_bits(steps.scores, want));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 140; ++j) {
      EXPECT_EQ(steps.masked_scores(1, 2, i, j),
                j <= i ? want(1, 2, i, j) : kMinusInf);
    }
  }
}

TEST(StepwiseTest, WithoutMaskAndDropoutThoseTensorsAreEmpty) {
  const AttentionSteps steps = stepwise(random_inputs(kShape, 640));
  EXPECT_EQ(steps.masked_scores.size(), 0u);
  EXPECT_EQ(steps.capped_scores.size(), 0u);
  EXPECT_EQ(steps.biased_scores.size(), 0u);
  EXPECT_EQ(steps.t5_scores.size(), 0u);
  EXPECT_EQ(steps.alibi_scores.size(), 0u);
  EXPECT_EQ(steps.dropped_weights.size(), 0u);
}

TEST(StepwiseTest, TheTraceIsToldEachStepInTheOrderOfTheWay) {
  const Inputs<float> in = random_inputs(kShape, 650);
  RecordedTrace plain;
  stepwise(in, {}, {}, &plain);
  EXPECT_THAT(plain.names(), ElementsAre("scores", "attn_weights", "context"));

  const auto padding = filled<bool, 2>({2, 140}, true);
  RecordedTrace all;
  stepwise(in,
           {.mask = causal() & key_padding(padding),
            .dropout = {.p = 0.5, .training = true}},
           {}, &all);
  EXPECT_THAT(all.names(), ElementsAre("scores", "causal_mask", "padding_mask",
                                       "mask", "masked_scores", "attn_weights",
                                       "dropped_weights", "context"));
}

TEST(StepwiseTest, TheTraceIsToldTheAxesAndTheTensorOfEachStep) {
  const Inputs<float> in = random_inputs(kShape, 660);
  RecordedTrace trace;
  const AttentionSteps steps =
      stepwise(in,
               {.mask = causal(),
                .query_start = 3,
                .dropout = {.p = 0.5, .training = true}},
               {}, &trace);
  const auto expect = [&](std::string_view name,
                          const std::vector<std::string>& axes,
                          const Tensor<float, 4>& tensor) {
    const RecordedStep* step = trace.find(name);
    ASSERT_NE(step, nullptr) << name;
    EXPECT_EQ(step->axes, axes);
    EXPECT_THAT(step->extents, testing::ElementsAreArray(tensor.extents()));
    EXPECT_TRUE(same_bits(step->elements, tensor.elements())) << name;
  };
  const std::vector<std::string> of_scores = {"B", "H", "Lq", "Lkv"};
  expect("scores", of_scores, steps.scores);
  expect("masked_scores", of_scores, steps.masked_scores);
  expect("attn_weights", of_scores, steps.attn_weights);
  expect("dropped_weights", of_scores, steps.dropped_weights);
  // People are shown (B, H, Lq, D).
  expect("context", {"B", "H", "Lq", "Dv"},
         copy_of(as_bhld(view_of(steps.context))));

  const RecordedStep* mask = trace.find("causal_mask");
  ASSERT_NE(mask, nullptr);
  EXPECT_THAT(mask->axes, ElementsAre("1", "1", "Lq", "Lkv"));
  EXPECT_THAT(mask->extents, ElementsAre(1, 1, 5, 140));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 140; ++j) {
      EXPECT_EQ(mask->elements[i * 140 + j], j <= i + 3 ? 1 : 0);
    }
  }
}

TEST(StepwiseTest, SizesOfZeroAreLegal) {
  for (const std::size_t none : {0u, 1u, 2u}) {
    AttentionShape shape = kShape;
    (none == 0 ? shape.B : none == 1 ? shape.Lq : shape.Lkv) = 0;
    const Inputs<float> in = random_inputs(shape, 670);
    RecordedTrace trace;
    const AttentionSteps steps = stepwise(in, {.mask = causal()}, {}, &trace);
    EXPECT_TRUE(same_bits(steps.context, attend(in).output));
    EXPECT_EQ(trace.steps.size(), 5u);
  }
}

}  // namespace
}  // namespace headwise::testing_support
