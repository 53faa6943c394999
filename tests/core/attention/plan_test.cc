#include "headwise/attention/plan.h"

#include "attention/backward_call.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 3, .Lkv = 5, .D = 8, .Dv = 6};

TEST(AttentionPlanTest, OnePlanRunsManyTimesWithTheBitsOfAttention) {
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::per_head};
  const auto plan = AttentionPlan::create(kShape, options).value();
  for (const std::uint32_t stream : {500u, 510u, 520u}) {
    const Inputs<float> in = random_inputs(kShape, stream);
    Outputs<float> out = outputs_for(in, AttnWeights::per_head);
    ASSERT_TRUE(plan.run(in.query, in.key, in.value, out.views()));
    const Outputs<float> want = attend(in, options);
    EXPECT_TRUE(same_bits(out.output, want.output));
    EXPECT_TRUE(same_bits(out.attn_weights, want.attn_weights));
    EXPECT_TRUE(same_bits(out.lse, want.lse));
  }
}

TEST(AttentionPlanTest, ItLooksAtItsMaskInEachRun) {
  auto lengths = filled<std::int64_t, 1>({2}, 5);
  const AttentionOptions options = {.mask = key_lengths(lengths)};
  const auto plan = AttentionPlan::create(kShape, options).value();
  lengths(1) = 2;
  const Inputs<float> in = random_inputs(kShape, 530);
  Outputs<float> out = outputs_for(in, AttnWeights::none);
  ASSERT_TRUE(plan.run(in.query, in.key, in.value, {.output = out.output}));
  EXPECT_TRUE(same_bits(out.output, attend(in, options).output));
}

TEST(AttentionPlanTest, ItsSpecHasEveryOptionFilledIn) {
  const auto plan = AttentionPlan::create(kShape, {}).value();
  EXPECT_EQ(plan.spec().scale, 1 / std::sqrt(8.0));
  EXPECT_EQ(plan.spec().shape.Lkv, 5u);
  EXPECT_EQ(plan.spec().executor, &Executor::default_executor());
  EXPECT_EQ(plan.spec().empty_rows, EmptyRow::zero);
}

TEST(AttentionPlanTest, TensorsOfOtherSizesAreErrorsAndNothingIsWritten) {
  const auto plan = AttentionPlan::create(kShape, {}).value();
  const Inputs<float> in = random_inputs(kShape, 540);
  Outputs<float> out = outputs_for(in, AttnWeights::none);
  const auto small = filled<float, 4>({1, 1, 1, 1}, 1);
  const auto run = [&](TensorView<const float, 4> query,
                       TensorView<const float, 4> key,
                       TensorView<const float, 4> value) {
    const Status s = plan.run(query, key, value, out.views());
    EXPECT_THAT(out.output.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  };
  EXPECT_EQ(run(small, in.key, in.value),
            "attention: query has shape (1, 1, 1, 1), expected (B, Lq, Hq, D) "
            "= (2, 3, 4, 8)");
  EXPECT_EQ(run(in.query, small, in.value),
            "attention: key has shape (1, 1, 1, 1), expected (B, Lkv, Hkv, D) "
            "= (2, 5, 2, 8)");
  EXPECT_EQ(run(in.query, in.key, small),
            "attention: value has shape (1, 1, 1, 1), expected (B, Lkv, Hkv, "
            "Dv) = (2, 5, 2, 6)");
}

TEST(AttentionPlanTest, AWorkspaceBeyondTheMachinesMemoryIsAnError) {
  for (const std::size_t B :
       {std::size_t{1} << 40, std::size_t{1} << 50, ~std::size_t{0}}) {
    for (const std::size_t Lq : {1u, 100u}) {
      const auto plan = AttentionPlan::create(
          {.B = B, .Hq = 1, .Hkv = 1, .Lq = Lq, .Lkv = Lq, .D = 8, .Dv = 8},
          {});
      ASSERT_FALSE(plan);
      EXPECT_EQ(plan.error().code(), ErrorCode::out_of_memory);
      EXPECT_GT(plan.error().bytes_needed(), std::size_t{1} << 40);
    }
  }
}

TEST(AttentionPlanTest, OptionsThatMakeNoSenseAreErrorsWhenItIsMade) {
  const auto plan = AttentionPlan::create(kShape, {.dropout = {.p = 7.0}});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan, IsAbout("dropout.p", "7", "a number from 0 to 1"));
}

// ---- Options that were checked before the call. ----

TEST(CheckedCallTest, HasTheBitsOfTheCallForEveryOption) {
  const Inputs<float> in = random_inputs(kShape, 560);
  const EveryMask every_mask(kShape, true);
  for (const OptionsCase& c : every_options(every_mask)) {
    const auto spec =
        AttentionSpec::create(kShape, c.options, c.operation_options).value();
    const Outputs<float> want = attend(in, c.options, c.operation_options);
    Outputs<float> out = outputs_for(in, c.options, c.operation_options);
    ASSERT_TRUE(attention(
        CallTensors(AttentionInputsOf<float>{in.query, in.key, in.value},
                    out.views()),
        spec))
        << c.name;
    EXPECT_TRUE(same_bits(out.output, want.output)) << c.name;
    EXPECT_TRUE(same_bits(out.attn_weights, want.attn_weights)) << c.name;
    EXPECT_TRUE(same_bits(out.lse, want.lse)) << c.name;

    const auto upstream =
        random_upstream(in, c.options, 570, c.operation_options);
    const auto saved = attend_and_save(in, c.options, c.operation_options);
    auto gradients = gradients_for(in, c.options, c.operation_options);
    ASSERT_TRUE(attention_backward(
        CallTensors(backward_inputs(in, saved, upstream), gradients.views()),
        spec))
        << c.name;
    EXPECT_TRUE(same_bits(
        gradients, differentiate(in, upstream, c.options, c.operation_options)))
        << c.name;
  }
}

TEST(CheckedCallTest, RefusesWhatTheCallRefuses) {
  const Inputs<float> in = random_inputs(kShape, 580);
  Outputs<float> out = outputs_for(in, AttnWeights::none);
  const CallTensors tensors(
      AttentionInputsOf<float>{in.query, in.key, in.value}, out.views());
  const auto of_queries =
      AttentionSpec::create(kShape, {}, {.query_part = QueryPart::first});
  EXPECT_THAT(attention(tensors, of_queries.value()),
              IsError(ErrorCode::unsupported, "query_part"));
  AttentionShape longer = kShape;
  longer.Lkv = 6;
  EXPECT_THAT(attention(tensors, AttentionSpec::create(longer, {}).value()),
              IsError(ErrorCode::shape_mismatch, "key"));
  const auto saved = attend_and_save(in);
  auto gradients = gradients_for(in, {}, {});
  const auto statistics =
      AttentionSpec::create(kShape, {}, {.statistics = {.rows = true}}).value();
  EXPECT_THAT(
      attention_backward(
          CallTensors(backward_inputs(in, saved, random_upstream(in, {}, 590)),
                      gradients.views()),
          statistics),
      IsAbout("statistics", "asked for",
              "none: the forward pass computes them"));
  EXPECT_THAT(out.output.elements(), Each(42.0f));
}

TEST(ExpectedTensorTest, GradientsAreThoseOfTheOptionsThatAreThere) {
  const auto sinks = filled<float, 1>({4}, 1);
  const auto spec = AttentionSpec::create(kShape, {.sinks = sinks}).value();
  for (const CallTensor gradient : kOptionGradients) {
    const TensorArg expected = expected_tensor(spec, gradient);
    EXPECT_EQ(expected.rank(), gradient == CallTensor::d_sinks ? 1u : 0u)
        << name_of(gradient);
  }
  EXPECT_EQ(expected_tensor(spec, CallTensor::d_sinks).extent(0), 4u);
  EXPECT_EQ(name_of(CallTensor::d_sinks), "d_sinks");
}

// Nothing of the size Lq x Lkv, let alone times the hidden layer.
TEST(AttentionPlanTest, AdditiveScoringNeedsNoMoreMemoryThanDotProducts) {
  const Executor executor = Executor::with_threads(1).value();
  const auto score_weight = uniform<2>({1, 64}, 4930);
  const auto bytes = [&](TensorView<const float, 2> w) {
    return AttentionPlan::create({.B = 1,
                                  .Hq = 1,
                                  .Hkv = 1,
                                  .Lq = 65536,
                                  .Lkv = 65536,
                                  .D = 64,
                                  .Dv = 64},
                                 {.executor = &executor}, {.score_weight = w})
        .value()
        .workspace_bytes();
  };
  EXPECT_LT(bytes(score_weight), bytes({}) + 8192);
}

}  // namespace
}  // namespace headwise::testing_support
