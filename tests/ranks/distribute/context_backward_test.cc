// The backward pass by ranks that own tokens: the bits of one process.

#include <span>
#include <string>
#include <vector>

#include "attention/key_parts.h"
#include "distribute/ranked_backward.h"
#include "headwise/distribute/context_attention.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

template <class T>
testing::AssertionResult same_by_context(const BackwardCall<T>& backward,
                                         const WholeCall<T>& whole,
                                         const ShardPlan& plan,
                                         std::size_t chunk) {
  const ContextCall call = {.tensors = whole.tensors,
                            .plan = plan,
                            .options = whole.options,
                            .operation_options = whole.operation_options,
                            .chunk_keys = chunk};
  return backward.same_by_ranks(
      plan, [&](Communicator& group, const auto& own, const auto& gradients) {
        return context_attention_backward(group, call, own, gradients);
      });
}

constexpr Deal kDeals[] = {Deal::contiguous, Deal::zig_zag, Deal::scattered};

// Pieces of 384 tokens, chunks of 128 and more.
void expect_gradients_of_one_process(const WholeCall<float>& call,
                                     const std::string& name, std::size_t& turn,
                                     std::span<const Deal> deals = kDeals) {
  const AttentionShape& s = call.tensors;
  const BackwardCall<float> backward(call,
                                     uniform<4>({s.B, s.Lq, s.Hq, s.Dv}, 7600));
  for (const Deal deal : deals) {
    const std::size_t ranks = 1 + turn++ * 5 % 16;
    const std::size_t chunk = turn % 2 == 0 ? 128 : 512;
    EXPECT_TRUE(same_by_context(backward, call,
                                plan_of(call.shape(), ranks, deal, 384), chunk))
        << name;
  }
}

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 500, .Lkv = 900, .D = 4, .Dv = 3};

void expect_gradients_for_every_option(Arithmetic arithmetic) {
  AttentionShape shape = kShape;
  shape.B = 1;
  const Inputs<float> in = random_inputs(shape, 7610);
  const EveryMask every_mask(shape, true);
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    WholeCall<float> call = {shape, in, options_of_parts(options),
                             operation_options};
    call.options.arithmetic = arithmetic;
    const auto spec =
        AttentionSpec::create(shape, call.options, call.operation_options)
            .value();
    if (spec.mask.first_key(0) % 128 == 0) {
      expect_gradients_of_one_process(call, name, turn, {&kDeals[turn % 3], 1});
    }
  }
}

TEST(ContextBackwardTest, EveryOptionHasTheBitsOfOneProcess) {
  expect_gradients_for_every_option(Arithmetic::exact);
}

TEST(ContextBackwardTest, InBf16EveryOptionHasTheBitsOfOneProcess) {
  expect_gradients_for_every_option(Arithmetic::bf16);
}

TEST(ContextBackwardTest, PaddingAndGroups) {
  const Inputs<float> in = random_inputs(kShape, 7620);
  const auto starts = tensor_of<std::int64_t, 1>({2}, {256, 128});
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 790});
  const auto query_starts = tensor_of<std::int64_t, 1>({2}, {420, 3});
  const OperationOptions uneven = {.kv_groups = groups_of({1, 3})};
  const OptionsCase cases[] = {
      {"starts", {.mask = key_starts(starts) & causal(), .query_start = 420}},
      {"lengths", {.mask = key_lengths(lengths)}},
      {"window and first keys",
       {.mask = window(40, 0, 130), .query_start = query_starts}},
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}},
      {"uneven groups", {.mask = causal(), .query_start = 100}, uneven}};
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] : cases) {
    expect_gradients_of_one_process({kShape, in, options, operation_options},
                                    name, turn);
  }
}

TEST(ContextBackwardTest, RaggedBatchesWithEmptyAndShortSequences) {
  const AttentionShape tensors = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 700, .Lkv = 900, .D = 4, .Dv = 3};
  const Inputs<float> in = random_inputs(tensors, 7630);
  const auto queries =
      tensor_of<std::int64_t, 1>({6}, {0, 50, 550, 550, 557, 700});
  const auto keys = tensor_of<std::int64_t, 1>({6}, {0, 0, 650, 651, 770, 900});
  std::size_t turn = 0;
  for (const Mask& mask : {Mask(), causal(), window(100, 5)}) {
    expect_gradients_of_one_process(
        {tensors, in, {.mask = mask, .offsets = {queries, keys}}}, "ragged",
        turn);
  }
}

TEST(ContextBackwardTest, FewerTokensThanRanks) {
  for (const std::size_t length : {0u, 1u, 129u}) {
    AttentionShape shape = kShape;
    shape.Lq = shape.Lkv = length;
    const Inputs<float> in = random_inputs(shape, 7640);
    std::size_t turn = 3;
    expect_gradients_of_one_process({shape, in, {.mask = causal()}},
                                    std::to_string(length) + " tokens", turn);
  }
}

template <class T>
void expect_gradients_of_type() {
  const Inputs<T> in = narrowed_to<T>(random_inputs(kShape, 7650));
  const WholeCall<T> call = {
      kShape, in, {.mask = causal(), .query_start = 300}};
  const BackwardCall<T> backward(
      call, narrowed_to<T>(
                uniform<4>({kShape.B, kShape.Lq, kShape.Hq, kShape.Dv}, 7651)));
  EXPECT_TRUE(same_by_context(backward, call,
                              plan_of(kShape, 3, Deal::zig_zag, 384), 384));
}

TEST(ContextBackwardTest, SixteenBitGradientsAreRoundedOnce) {
  expect_gradients_of_type<BFloat16>();
  expect_gradients_of_type<Float16>();
}

// ---- Errors ----

// Of a group of one.
std::string message_of(const ContextCall& call,
                       const BackwardInputs& inputs = {},
                       const AttentionGradients& gradients = {}) {
  const auto group = Communicator::self();
  const Status s = context_attention_backward(*group, call, inputs, gradients);
  return s ? "no error" : s.error().message();
}

TEST(ContextBackwardErrorsTest, WhatNoRankCanHaveIsNamed) {
  AttentionShape shape = kShape;
  shape.B = 1;
  ContextCall call = {.tensors = shape,
                      .plan = plan_of(shape, 1, Deal::contiguous, 384)};
  std::vector<float> numbers(4);
  BackwardInputs inputs;
  inputs.d_attn_weights = {numbers.data(), {1, 1, 2, 2}};
  EXPECT_THAT(
      message_of(call, inputs),
      StartsWith(
          "context_attention_backward: d_attn_weights is given, expected "
          "none in a call of several ranks"));
  AttentionGradients gradients;
  gradients.state.alibi = {numbers.data(), {1, 4, 1}};
  EXPECT_THAT(
      message_of(call, {}, gradients),
      StartsWith(
          "context_attention_backward: gradients.state is given, expected "
          "none in a call of several ranks"));
  call.options.empty_rows = EmptyRow::uniform;
  EXPECT_THAT(
      message_of(call),
      StartsWith(
          "context_attention_backward: empty_rows is uniform, expected zero "
          "or nan in a part of the keys"));
}

TEST(ContextBackwardErrorsTest, QueriesAreCutWhereABlockEnds) {
  AttentionShape shape = kShape;
  shape.B = 1;
  const Inputs<float> in = random_inputs(shape, 7660);
  const ContextCall call = {.tensors = shape,
                            .plan = plan_of(shape, 1, Deal::contiguous)};
  const WholeOutputs<float> out(shape);
  AllGradients<float> gradients({shape, in}, in);
  const auto group = Communicator::self();
  const Status s = context_attention_backward(
      *group, call,
      {view_of(in.query), view_of(in.key), view_of(in.value),
       view_of(out.output), view_of(out.softmax_rows), view_of(out.output)},
      gradients.views());
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(),
              HasSubstr("plan.queries is cut at token 128 of a sequence, "
                        "expected cuts at multiples of 48"));
}

}  // namespace
}  // namespace headwise::testing_support
