#include "headwise/attention/plan.h"

#include "attention/attention_call.h"
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
