// The backward pass by ranks that exchange tokens for heads: the bits of one
// process.

#include <string>
#include <vector>

#include "distribute/ranked_backward.h"
#include "distribute/ranked_heads.h"
#include "headwise/distribute/heads_attention.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

template <class T>
testing::AssertionResult same_by_heads(const BackwardCall<T>& backward,
                                       const WholeCall<T>& whole,
                                       std::size_t ranks, Deal deal) {
  const HeadsCall call = heads_call_of(whole, ranks, deal);
  return backward.same_by_ranks(
      call.tokens,
      [&](Communicator& group, const auto& own, const auto& gradients) {
        return heads_attention_backward(group, call, own, gradients);
      });
}

Tensor<float, 4> upstream_of(const AttentionShape& s) {
  return uniform<4>({s.B, s.Lq, s.Hq, s.Dv}, 7700);
}

void expect_gradients_for_every_option(Arithmetic arithmetic) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7710);
  const EveryMask every_mask(kHeadsShape, true);
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    WholeCall<float> whole = {kHeadsShape, in, options_of_ranks(options),
                              operation_options};
    whole.options.arithmetic = arithmetic;
    const BackwardCall<float> backward(whole, upstream_of(kHeadsShape));
    EXPECT_TRUE(
        same_by_heads(backward, whole, 1 + turn++ * 5 % 16, Deal::zig_zag))
        << name;
  }
}

TEST(HeadsBackwardTest, EveryOptionHasTheBitsOfOneProcess) {
  expect_gradients_for_every_option(Arithmetic::exact);
}

TEST(HeadsBackwardTest, InBf16EveryOptionHasTheBitsOfOneProcess) {
  expect_gradients_for_every_option(Arithmetic::bf16);
}

TEST(HeadsBackwardTest, WeightsHaveAGradientByHeads) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7715);
  const EveryBias biases(kHeadsShape);
  const auto d_weights = uniform<4>(
      {kHeadsShape.B, kHeadsShape.Hq, kHeadsShape.Lq, kHeadsShape.Lkv + 2},
      7716);
  const WholeCall<float> whole = {kHeadsShape,
                                  in,
                                  {.mask = causal(),
                                   .bias = biases.finite(),
                                   .query_start = 100,
                                   .dropout = {.p = 0.3, .training = true},
                                   .attn_weights = AttnWeights::after_dropout},
                                  {.added_keys = biases.added_keys(true)}};
  const BackwardCall<float> backward(whole, upstream_of(kHeadsShape),
                                     d_weights);
  for (const std::size_t ranks : {2u, 5u}) {
    const HeadsCall call = heads_call_of(whole, ranks, Deal::zig_zag);
    EXPECT_TRUE(backward.same_by_ranks(
        call.tokens,
        [&](Communicator& group, BackwardInputs own, const auto& gradients) {
          const HeadRange& heads = call.heads.ranks[group.rank()].heads;
          own.d_attn_weights = internal::part_along(1, view_of(d_weights),
                                                    {heads.first, heads.count});
          return heads_attention_backward(group, call, own, gradients);
        }));
  }
}

TEST(HeadsBackwardTest, EveryBiasOnEveryNumberOfRanks) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7720);
  const EveryMask every_mask(kHeadsShape, true);
  for (const auto& [name, bias] : every_mask.biases().biases()) {
    const WholeCall<float> whole = {
        kHeadsShape, in, {.mask = causal(), .bias = bias, .query_start = 100}};
    const BackwardCall<float> backward(whole, upstream_of(kHeadsShape));
    for (const std::size_t ranks : {2u, 3u, 5u}) {
      EXPECT_TRUE(same_by_heads(backward, whole, ranks, Deal::scattered))
          << name;
    }
  }
}

TEST(HeadsBackwardTest, UnevenGroupsOnEveryNumberOfRanks) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7730);
  const WholeCall<float> whole = {kHeadsShape,
                                  in,
                                  {.mask = causal(), .query_start = 100},
                                  {.kv_groups = groups_of({1, 3, 2})}};
  const BackwardCall<float> backward(whole, upstream_of(kHeadsShape));
  for (std::size_t ranks = 1; ranks <= 16; ++ranks) {
    EXPECT_TRUE(same_by_heads(backward, whole, ranks, Deal::contiguous));
  }
}

TEST(HeadsBackwardTest, RaggedBatches) {
  const auto& [tensors, queries, keys] = RaggedHeads();
  const Inputs<float> in = random_inputs(tensors, 7740);
  // The biases are those of a padded batch of the longest sequences.
  const EveryBias biases(
      {.B = 3, .Hq = 6, .Hkv = 3, .Lq = 150, .Lkv = 150, .D = 4, .Dv = 3});
  AttentionOptions options = {.mask = causal(),
                              .alibi = biases.slopes(),
                              .query_start = QueryStart::bottom_right(),
                              .offsets = {queries, keys}};
  for (const auto& [name, bias] : biases.biases()) {
    options.bias = bias;
    const WholeCall<float> whole = {tensors, in, options};
    const BackwardCall<float> backward(whole, upstream_of(tensors));
    for (const std::size_t ranks : {1u, 2u, 5u}) {
      EXPECT_TRUE(same_by_heads(backward, whole, ranks, Deal::scattered))
          << name;
    }
  }
}

TEST(HeadsBackwardTest, FewerTokensThanRanks) {
  for (const std::size_t length : {0u, 1u, 3u}) {
    AttentionShape shape = kHeadsShape;
    shape.Lq = shape.Lkv = length;
    const Inputs<float> in = random_inputs(shape, 7750);
    const WholeCall<float> whole = {shape, in, {.mask = causal()}};
    const BackwardCall<float> backward(whole, upstream_of(shape));
    EXPECT_TRUE(same_by_heads(backward, whole, 5, Deal::contiguous));
  }
}

template <class T>
void expect_gradients_of_type() {
  const Inputs<T> in = narrowed_to<T>(random_inputs(kHeadsShape, 7760));
  const EveryBias biases(kHeadsShape);
  const WholeCall<T> whole = {
      kHeadsShape, in, {.mask = causal(), .bias = biases.finite()}};
  const BackwardCall<T> backward(whole,
                                 narrowed_to<T>(upstream_of(kHeadsShape)));
  EXPECT_TRUE(same_by_heads(backward, whole, 2, Deal::zig_zag));
}

TEST(HeadsBackwardTest, SixteenBitGradientsAreRoundedOnce) {
  expect_gradients_of_type<BFloat16>();
  expect_gradients_of_type<Float16>();
}

// Rank 0 wants d_key alone, rank 1 d_alibi alone.
TEST(HeadsBackwardTest, ARankMayLeaveOutWhatItDoesNotWant) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7770);
  const EveryBias biases(kHeadsShape);
  const WholeCall<float> whole = {kHeadsShape, in, {.alibi = biases.slopes()}};
  const HeadsCall call = heads_call_of(whole, 2, Deal::contiguous);
  const auto result =
      BackwardCall<float>(whole, upstream_of(kHeadsShape))
          .same_by_ranks(call.tokens, [&](Communicator& group, const auto& own,
                                          const auto& given) {
            AttentionGradients gradients;
            if (group.rank() == 0) {
              gradients.key = given.key;
            } else {
              gradients.alibi = given.alibi;
            }
            return heads_attention_backward(group, call, own, gradients);
          });
  // What no rank asked for stays as it was; a rank's own is written.
  EXPECT_THAT(result.message(), HasSubstr("other gradients of alibi query key "
                                          "value"));
}

// ---- Errors ----

// Of a group of one.
std::string message_of(const HeadsCall& call,
                       const AttentionGradients& gradients,
                       const BackwardInputs& inputs = {}) {
  const auto group = Communicator::self();
  const Status s = heads_attention_backward(*group, call, inputs, gradients);
  return s ? "no error" : s.error().message();
}

TEST(HeadsBackwardErrorsTest, WhatNoRankCanHaveIsNamed) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7780);
  const WholeCall<float> whole = {kHeadsShape, in};
  const HeadsCall call = heads_call_of(whole, 1, Deal::contiguous);
  std::vector<float> numbers(4);
  AttentionGradients gradients;
  gradients.state.query = {numbers.data(), {1, 1, 2, 2}};
  EXPECT_THAT(
      message_of(call, gradients),
      StartsWith(
          "heads_attention_backward: gradients.state is given, expected none "
          "in a call of several ranks"));
}

TEST(HeadsBackwardErrorsTest, NoGradientOfWeightsWithASharedBias) {
  AttentionShape shape = kHeadsShape;
  shape.Lq = shape.Lkv = 0;
  const Inputs<float> in = random_inputs(shape, 7785);
  std::vector<float> numbers(1);
  WholeCall<float> whole = {shape, in};
  whole.options.attn_weights = AttnWeights::per_head;
  whole.options.bias = dense(TensorView<const float, 2>(numbers.data(), {0, 0}),
                             {Axis::Lq, Axis::Lkv});
  BackwardInputs inputs;
  inputs.d_attn_weights = {numbers.data(), {shape.B, shape.Hq, 0, 0}};
  EXPECT_THAT(message_of(heads_call_of(whole, 1, Deal::contiguous), {}, inputs),
              StartsWith("heads_attention_backward: d_attn_weights is given, "
                         "expected none where heads and sequences share a "
                         "bias"));
}

TEST(HeadsBackwardErrorsTest, GradientsThatDoNotFitAreNamed) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7790);
  const EveryBias biases(kHeadsShape);
  WholeCall<float> whole = {kHeadsShape, in};
  whole.tensors.Lq = whole.tensors.Lkv = 0;
  std::vector<float> numbers(4);
  AttentionGradients gradients;
  gradients.alibi = {numbers.data(), {4}};
  EXPECT_THAT(
      message_of(heads_call_of(whole, 1, Deal::contiguous), gradients),
      StartsWith("heads_attention_backward: gradients.alibi is given, expected "
                 "none: the options have no alibi"));
  whole.options.alibi = biases.slopes();
  EXPECT_THAT(
      message_of(heads_call_of(whole, 1, Deal::contiguous), gradients),
      StartsWith(
          "heads_attention_backward: gradients.alibi has shape (4), expected "
          "(Hq) = (6)"));
}

}  // namespace
}  // namespace headwise::testing_support
