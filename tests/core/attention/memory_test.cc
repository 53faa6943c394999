// What a call takes from memory: nothing on the path of a plan's run, and an
// error where there is too little.

#include <numeric>

#include "attention/attention_call.h"
#include "attention/backward/backward_kernel.h"
#include "attention/backward_call.h"
#include "attention/key_parts.h"
#include "headwise/attention/plan.h"
#include "support/allocations.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(WorkspaceTest, ARunAllocatesNothingAndHasTheBitsOfOneCall) {
  const Executor executor = Executor::with_threads(1).value();
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 1100);
    const Inputs<BFloat16> half = {narrowed_to<BFloat16>(in.query),
                                   narrowed_to<BFloat16>(in.key),
                                   narrowed_to<BFloat16>(in.value)};
    auto half_output =
        Tensor<BFloat16, 4>::create({shape.B, shape.Lq, shape.Hq, shape.Dv})
            .value();
    const EveryMask every_mask(shape, true);
    for (auto [name, options, operation_options] : every_options(every_mask)) {
      options.executor = &executor;
      const auto plan =
          AttentionPlan::create(shape, options, operation_options).value();
      auto workspace = Workspace::create(plan.workspace_bytes()).value();
      Outputs<float> out = outputs_for(in, options, operation_options);
      for (int run = 0; run < 2; ++run) {
        const std::size_t before = allocations;
        const Status s =
            plan.run(in.query, in.key, in.value, out.views(), workspace);
        EXPECT_EQ(allocations, before) << name;
        EXPECT_TRUE(s);
        EXPECT_TRUE(same_bits(out, attend(in, options, operation_options)))
            << name;
      }
      const std::size_t before = allocations;
      EXPECT_TRUE(plan.run(
          half.query, half.key, half.value,
          AttentionOutputsOf<BFloat16>{.output = half_output,
                                       .attn_weights = out.attn_weights,
                                       .lse = out.lse,
                                       .scores = out.scores},
          workspace));
      EXPECT_EQ(allocations, before) << name << ", bfloat16";
    }
  }
}

TEST(WorkspaceTest, NewOffsetsAllocateNothing) {
  const Executor executor = Executor::with_threads(1).value();
  const auto first = tensor_of<std::int64_t, 1>({3}, {0, 5, 9});
  const auto next = tensor_of<std::int64_t, 1>({3}, {0, 2, 6});
  auto plan =
      AttentionPlan::create(
          {.B = 1, .Hq = 2, .Hkv = 2, .Lq = 9, .Lkv = 9, .D = 8, .Dv = 8},
          {.mask = causal(), .offsets = first.view(), .executor = &executor})
          .value();
  auto workspace = Workspace::create(plan.workspace_bytes()).value();
  const auto x = filled<float, 4>({1, 6, 2, 8}, 1);
  auto output = filled<float, 4>({1, 6, 2, 8}, 42);
  const std::size_t before = allocations;
  const Status run =
      plan.run(x.view(), x.view(), x.view(), {.output = output.view()},
               workspace, next.view());
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(run);
  EXPECT_THAT(output.elements(), testing::Each(1.0f));
}

// Lq is for few rows, then for tiles.
TEST(WorkspaceTest, APartOfTheKeysAllocatesNothingAndTakesNoMoreMemory) {
  const Executor executor = Executor::with_threads(1).value();
  for (const std::size_t Lq : {2u, 20u}) {
    const AttentionShape shape = {
        .B = 2, .Hq = 4, .Hkv = 2, .Lq = Lq, .Lkv = 256, .D = 8, .Dv = 6};
    const AttentionOptions options = {.mask = causal(), .executor = &executor};
    const std::size_t bytes =
        AttentionPlan::create(shape, options).value().workspace_bytes();
    auto workspace = Workspace::create(bytes).value();
    const Inputs<float> in = random_inputs(shape, 1140);
    StateTensors state(shape);
    for (const KeyPart part : {KeyPart::first, KeyPart::middle}) {
      const auto plan =
          AttentionPlan::create(shape, options, {.key_part = part}).value();
      EXPECT_EQ(plan.workspace_bytes(), bytes);
      const std::size_t before = allocations;
      const Status s = plan.run(in.query, in.key, in.value,
                                {.state = state.views()}, workspace);
      EXPECT_EQ(allocations, before);
      EXPECT_TRUE(s);
    }
  }
}

TEST(WorkspaceTest, OneThatIsTooSmallIsAnErrorAndNothingIsWritten) {
  const auto plan = AttentionPlan::create(kSmall, {}).value();
  const Inputs<float> in = random_inputs(kSmall, 1110);
  Outputs<float> out = outputs_for(in, AttnWeights::none);
  auto workspace = Workspace::create(plan.workspace_bytes() - 1).value();
  const Status s = plan.run(in.query, in.key, in.value, out.views(), workspace);
  ASSERT_FALSE(s);
  const std::string bytes = std::to_string(plan.workspace_bytes());
  EXPECT_EQ(s.error().message(),
            "attention: workspace is " +
                std::to_string(plan.workspace_bytes() - 1) +
                " bytes, expected " + bytes + " or more");
  EXPECT_THAT(out.output.elements(), testing::Each(42.0f));
}

TEST(WorkspaceTest, ItGrowsWithTheLengthAndNotWithItsSquare) {
  const Executor executor = Executor::with_threads(1).value();
  const auto bytes = [&](std::size_t L,
                         ScoresStage scores = ScoresStage::none) {
    return AttentionPlan::create({.B = 1,
                                  .Hq = 1,
                                  .Hkv = 1,
                                  .Lq = L,
                                  .Lkv = L,
                                  .D = 64,
                                  .Dv = 64},
                                 {.scores = scores, .executor = &executor})
        .value()
        .workspace_bytes();
  };
  const std::size_t packed = 65536 * (64 + 64) * sizeof(float);
  EXPECT_LT(bytes(65536), packed + (std::size_t{4} << 20));
  EXPECT_LT(bytes(65536), 33 * bytes(2048));
  // Returned scores go to the caller's memory tile by tile.
  EXPECT_LT(bytes(65536, ScoresStage::bias),
            bytes(65536) + (std::size_t{1} << 20));
}

TEST(WorkspaceTest, OfFewQueriesItDoesNotGrowWithTheKeys) {
  for (const std::size_t threads : {1u, 2u}) {
    const Executor executor = Executor::with_threads(threads).value();
    const auto bytes = [&](std::size_t Lkv) {
      return AttentionPlan::create({.B = 1,
                                    .Hq = 4,
                                    .Hkv = 1,
                                    .Lq = 2,
                                    .Lkv = Lkv,
                                    .D = 64,
                                    .Dv = 64},
                                   {.executor = &executor})
          .value()
          .workspace_bytes();
    };
    EXPECT_EQ(bytes(1'000'000), bytes(10'000)) << threads << " threads";
  }
}

TEST(WorkspaceTest, SizesBeyondAllMemoryAreAnErrorNotAnOverflow) {
  const std::size_t huge = std::size_t{1} << 60;
  const auto plan = AttentionPlan::create(
      {.B = 1, .Hq = 1, .Hkv = 1, .Lq = 20, .Lkv = huge, .D = 64, .Dv = 64},
      {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::out_of_memory);
  const auto workspace =
      Workspace::create(std::numeric_limits<std::size_t>::max());
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code(), ErrorCode::out_of_memory);
}

// Makes the first allocation of `call` fail, then the second, ... until all are
// served; a call that fails has written nothing. `call(start_failing)` counts
// from where it calls start_failing().
template <class Call, class Untouched>
void expect_each_allocation_may_fail(const std::string& name, const Call& call,
                                     const Untouched& expect_untouched) {
  for (long nth = 1;; ++nth) {
    failing_allocation() = 0;
    const Status s = call([nth] { failing_allocation() = nth; });
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    if (all_served) {
      EXPECT_TRUE(s) << name;
      EXPECT_GT(nth, 1) << name;  // the workspace is one
      return;
    }
    ASSERT_FALSE(s) << name;
    EXPECT_EQ(s.error().code(), ErrorCode::out_of_memory) << name;
    expect_untouched();
  }
}

TEST(WorkspaceTest, EachAllocationOfACallMayFailAndNothingIsWritten) {
  // One thread: what oneTBB does without memory is its own affair.
  const Executor executor = Executor::with_threads(1).value();
  const Inputs<float> in = random_inputs(kSmall, 1120);
  const EveryMask every_mask(kSmall, true);
  for (auto [name, options, operation_options] : every_options(every_mask)) {
    options.executor = &executor;
    Outputs<float> out = outputs_for(in, options, operation_options);
    expect_each_allocation_may_fail(
        name,
        [&, &options = options,
         &operation_options = operation_options](const auto& start_failing) {
          const AttentionOutputs outputs = out.views();
          start_failing();
          return attention(in.query, in.key, in.value, outputs, options,
                           operation_options);
        },
        [&] { EXPECT_THAT(out.output.elements(), testing::Each(42.0f)); });
  }
}

TEST(WorkspaceTest, EachAllocationOfAPartMayFailAndTheStateIsNotWritten) {
  const Executor executor = Executor::with_threads(1).value();
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 3, .Lkv = 128, .D = 8, .Dv = 6};
  const Inputs<float> in = random_inputs(shape, 1150);
  StateTensors state(shape);
  expect_each_allocation_may_fail(
      "first part",
      [&](const auto& start_failing) {
        start_failing();
        return attention(in.query.view(), in.key.view(), in.value.view(),
                         {.state = state.views()}, {.executor = &executor},
                         {.key_part = KeyPart::first});
      },
      [&] {
        EXPECT_THAT(state.softmax_rows.elements(), testing::Each(42.0f));
        EXPECT_THAT(state.context.elements(), testing::Each(42.0f));
      });
}

// ---- The backward pass. ----

// What a call asks for, as the error says when it does not get it.
std::size_t backward_bytes(std::size_t L, std::size_t threads) {
  const Executor executor = Executor::with_threads(threads).value();
  const auto rows = Tensor<float, 4>::create({1, L, 8, 64}).value();
  auto d_query = Tensor<float, 4>::create({1, L, 8, 64}).value();
  auto d_key = Tensor<float, 4>::create({1, L, 8, 64}).value();
  auto d_value = Tensor<float, 4>::create({1, L, 8, 64}).value();
  const auto softmax_rows = Tensor<float, 4>::create({1, 8, L, 2}).value();
  failing_allocation() = 1;
  const Status s =
      attention_backward({rows, rows, rows, rows, softmax_rows, rows},
                         {d_query, d_key, d_value}, {.executor = &executor});
  failing_allocation() = 0;
  const std::string message = s ? "" : s.error().message();
  const std::string start = "out of memory: ";
  EXPECT_TRUE(message.starts_with(start)) << message;
  return std::stoull(message.substr(start.size()));
}

TEST(BackwardMemoryTest, GrowsWithTheLengthAndNotWithItsSquare) {
  for (const std::size_t threads : {1u, 2u}) {
    const std::size_t saved = std::size_t{8} * 16384 * 2 * sizeof(float);
    const std::size_t bytes = backward_bytes(16384, threads);
    EXPECT_LT(bytes + saved, 100'000'000) << threads << " threads";
    EXPECT_LT(backward_bytes(65536, threads), 5 * bytes);
  }
}

// 20,000 sequences of one row and one of 100,000.
TEST(BackwardMemoryTest, OfARaggedBatchFollowsItsRows) {
  constexpr std::size_t kShort = 20'000;
  constexpr std::size_t kRows = kShort + 100'000;
  auto offsets = Tensor<std::int64_t, 1>::create({kShort + 2}).value();
  std::iota(offsets.data(), offsets.data() + kShort + 1, 0);
  offsets(kShort + 1) = kRows;
  const Executor executor = Executor::with_threads(1).value();
  auto slopes = filled<float, 1>({2}, 0.5f);
  auto score_weight = filled<float, 2>({2, 8}, 1);
  auto table = filled<float, 2>({32, 2}, 1);
  const auto spec = AttentionSpec::create({.B = 1,
                                           .Hq = 2,
                                           .Hkv = 2,
                                           .Lq = kRows,
                                           .Lkv = kRows,
                                           .D = 8,
                                           .Dv = 8},
                                          {.t5_bias = {.table = table},
                                           .alibi = slopes,
                                           .offsets = offsets,
                                           .executor = &executor},
                                          {.score_weight = score_weight})
                        .value();
  const std::size_t bytes = backward_workspace_bytes(
      spec, backward_schedule_of(spec),
      CallTensors(BackwardInputs{},
                  AttentionGradients{.t5_bias = table,
                                     .alibi = slopes,
                                     .score_weight = score_weight}));
  EXPECT_LT(bytes, kRows * 500);
}

TEST(BackwardMemoryTest, AGradientThatIsNotWantedTakesNone) {
  constexpr std::size_t kLength = 2048;
  constexpr std::size_t kSize = 64;
  auto x = filled<float, 4>({1, kLength, 1, kSize}, 1);
  const Executor executor = Executor::with_threads(1).value();
  const auto spec = AttentionSpec::create({.B = 1,
                                           .Hq = 1,
                                           .Hkv = 1,
                                           .Lq = kLength,
                                           .Lkv = kLength,
                                           .D = kSize,
                                           .Dv = kSize},
                                          {.executor = &executor})
                        .value();
  const auto bytes = [&](const AttentionGradients& gradients) {
    return backward_workspace_bytes(spec, backward_schedule_of(spec),
                                    CallTensors(BackwardInputs{}, gradients));
  };
  const std::size_t all = bytes({.query = x, .key = x, .value = x});
  const std::size_t head = x.size() * sizeof(float);
  EXPECT_LE(bytes({.query = x}) + 2 * head, all);        // the sums
  EXPECT_LE(bytes({.key = x, .value = x}) + head, all);  // the keys' panels
}

TEST(BackwardMemoryTest, EachAllocationMayFailAndNothingIsWritten) {
  const Executor executor = Executor::with_threads(1).value();
  const Inputs<float> in = random_inputs(kSmall, 1130);
  const EveryMask every_mask(kSmall, true);
  for (auto [name, options, operation_options] : every_options(every_mask)) {
    options.executor = &executor;
    auto out = outputs_for(in, options, operation_options);
    auto rows =
        Tensor<float, 4>::create({kSmall.B, kSmall.Hq, kSmall.Lq, 2}).value();
    AttentionOutputs outputs = out.views();
    outputs.softmax_rows = rows;
    ASSERT_TRUE(attention(in.query, in.key, in.value, outputs, options,
                          operation_options));
    const BackwardInputs inputs = {in.query,      in.key,
                                   in.value,      view_of(out.output),
                                   view_of(rows), view_of(out.output)};
    auto gradients = gradients_for(in, options, operation_options);
    expect_each_allocation_may_fail(
        name,
        [&, &options = options,
         &operation_options = operation_options](const auto& start_failing) {
          const AttentionGradients wanted = gradients.views();
          start_failing();
          return attention_backward(inputs, wanted, options, operation_options);
        },
        [&] {
          EXPECT_THAT(gradients.query.elements(), testing::Each(42.0f));
          EXPECT_THAT(gradients.value.elements(), testing::Each(42.0f));
        });
  }
}

}  // namespace
}  // namespace headwise::testing_support
