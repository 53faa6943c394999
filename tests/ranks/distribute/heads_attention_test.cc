// Attention by ranks that exchange tokens for heads: the bits of one process.
#include "headwise/distribute/heads_attention.h"

#include <algorithm>
#include <string>
#include <vector>

#include "distribute/ranked_call.h"
#include "distribute/ranked_heads.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

template <class T>
testing::AssertionResult same_by_heads(const WholeCall<T>& whole,
                                       std::size_t ranks, Deal deal) {
  const HeadsCall call = heads_call_of(whole, ranks, deal);
  const WholeOutputs<T> got = by_ranks<T>(
      whole, call.tokens,
      [&](Communicator& group, const auto& own, const auto& outputs) {
        return heads_attention(group, call, own, outputs);
      });
  return same_bits(got, by_one_process(whole)) << ", by " << ranks << " ranks";
}

void expect_bits_for_every_option(Arithmetic arithmetic) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7500);
  const EveryMask every_mask(kHeadsShape, true);
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    WholeCall<float> whole = {kHeadsShape, in, options_of_ranks(options),
                              operation_options};
    whole.options.arithmetic = arithmetic;
    EXPECT_TRUE(same_by_heads(whole, 1 + turn++ * 5 % 16, Deal::zig_zag))
        << name;
  }
}

TEST(HeadsAttentionTest, EveryOptionHasTheBitsOfOneProcess) {
  expect_bits_for_every_option(Arithmetic::exact);
}

TEST(HeadsAttentionTest, InBf16EveryOptionHasTheBitsOfOneProcess) {
  expect_bits_for_every_option(Arithmetic::bf16);
}

// Whether rank r has those of its heads of the whole tensor.
testing::AssertionResult same_heads(const Tensor<float, 4>& got,
                                    const Tensor<float, 4>& whole,
                                    const HeadRange& heads) {
  auto want = filled<float, 4>(got.extents(), 0.0f);
  copy_elements<float, 4>(
      internal::part_along(1, view_of(whole), {heads.first, heads.count}),
      want.view());
  return same_bits(got, want);
}

TEST(HeadsAttentionTest, ARankHasTheWeightsAndScoresOfItsHeads) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7570);
  const EveryMask every_mask(kHeadsShape, true);
  for (const OptionsCase& c : every_options(every_mask)) {
    if (c.options.attn_weights == AttnWeights::mean) {
      continue;
    }
    const WholeCall<float> whole = {kHeadsShape, in, c.options,
                                    c.operation_options};
    const auto want = attend(in, c.options, c.operation_options);
    const HeadsCall call = heads_call_of(whole, 2, Deal::zig_zag);
    const auto work = [&](Communicator& group,
                          const AttentionInputsOf<float>& own,
                          AttentionOutputs outputs) -> Status {
      const HeadRange& heads = call.heads.ranks[group.rank()].heads;
      const auto pairs_like = [&](const Tensor<float, 4>& pairs) {
        Extents<4> extents = pairs.extents();
        extents[1] = std::min(extents[1], heads.count);
        return filled<float, 4>(extents, 42.0f);
      };
      auto weights = pairs_like(want.attn_weights);
      auto scores = pairs_like(want.scores);
      outputs.attn_weights = weights.view();
      outputs.scores = scores.view();
      HEADWISE_TRY(heads_attention(group, call, own, outputs));
      EXPECT_TRUE(same_heads(weights, want.attn_weights, heads)) << c.name;
      EXPECT_TRUE(scores.size() == 0 || same_heads(scores, want.scores, heads))
          << c.name;
      return ok();
    };
    by_ranks<float>(whole, call.tokens, work);
  }
}

TEST(HeadsAttentionTest, DropoutThatDropsNothing) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7510);
  const WholeCall<float> whole = {
      kHeadsShape, in, {.dropout = {.p = 0.0, .training = true}}, {}};
  EXPECT_TRUE(same_by_heads(whole, 3, Deal::zig_zag));
}

TEST(HeadsAttentionTest, UnevenGroupsOnEveryNumberOfRanks) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7510);
  const WholeCall<float> whole = {kHeadsShape,
                                  in,
                                  {.mask = causal(), .query_start = 100},
                                  {.kv_groups = groups_of({1, 3, 2})}};
  for (std::size_t ranks = 1; ranks <= 16; ++ranks) {
    EXPECT_TRUE(same_by_heads(whole, ranks, Deal::contiguous));
  }
}

TEST(HeadsAttentionTest, RaggedBatches) {
  const auto& [tensors, queries, keys] = RaggedHeads();
  const Inputs<float> in = random_inputs(tensors, 7520);
  const WholeCall<float> whole = {tensors,
                                  in,
                                  {.mask = causal(),
                                   .query_start = QueryStart::bottom_right(),
                                   .offsets = {queries, keys}}};
  for (const std::size_t ranks : {1u, 2u, 5u}) {
    EXPECT_TRUE(same_by_heads(whole, ranks, Deal::scattered));
  }
}

TEST(HeadsAttentionTest, FewerTokensThanRanks) {
  for (const std::size_t length : {0u, 1u, 3u}) {
    AttentionShape shape = kHeadsShape;
    shape.Lq = shape.Lkv = length;
    const Inputs<float> in = random_inputs(shape, 7530);
    EXPECT_TRUE(same_by_heads<float>({shape, in, {.mask = causal()}}, 5,
                                     Deal::contiguous));
  }
}

template <class T>
void expect_bits_of_type() {
  const Inputs<T> in = narrowed_to<T>(random_inputs(kHeadsShape, 7540));
  EXPECT_TRUE(same_by_heads<T>({kHeadsShape, in, {.mask = causal()}}, 2,
                               Deal::zig_zag));
}

TEST(HeadsAttentionTest, SixteenBitTensors) {
  expect_bits_of_type<BFloat16>();
  expect_bits_of_type<Float16>();
}

// Only rank 0 wants them.
TEST(HeadsAttentionTest, ARankMayLeaveOutWhatItDoesNotWant) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7550);
  const WholeCall<float> whole = {kHeadsShape, in};
  const HeadsCall call = heads_call_of(whole, 2, Deal::contiguous);
  const WholeOutputs<float> want = by_one_process(whole);
  const WholeOutputs<float> got = by_ranks<float>(
      whole, call.tokens,
      [&](Communicator& group, const auto& own, const auto& given) {
        AttentionOutputs outputs = {.output = given.output};
        if (group.rank() == 0) {
          outputs.lse = given.lse;
        }
        return heads_attention(group, call, own, outputs);
      });
  EXPECT_TRUE(same_bits(got.output, want.output));
  EXPECT_EQ(got.lse(0, 2, 0), want.lse(0, 2, 0));
  EXPECT_EQ(got.lse(1, 2, 129), 42);
  EXPECT_EQ(got.softmax_rows(0, 2, 0, 1), 42);
}

// ---- Errors ----

template <class Change>
std::vector<std::string> messages_of(const Change& change) {
  const Inputs<float> in = random_inputs(kHeadsShape, 7560);
  const WholeCall<float> whole = {kHeadsShape, in};
  const HeadsCall call = heads_call_of(whole, 2, Deal::contiguous);
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) {
    HeadsCall own_call = call;
    change(group.rank(), own_call);
    RankTensors<float> tensors(whole, call.tokens.ranks[group.rank()]);
    const Status s =
        heads_attention(group, own_call, tensors.inputs(), tensors.out.views());
    messages[group.rank()] = s ? "no error" : s.error().message();
    return s;
  });
  EXPECT_TRUE(ended);
  return messages;
}

TEST(HeadsAttentionErrorsTest, AnErrorOfOneRankIsOneOfAll) {
  const auto swap_heads = [](std::size_t rank, HeadsCall& call) {
    if (rank == 1) {
      std::swap(call.heads.ranks[0], call.heads.ranks[1]);
    }
  };
  for (const std::string& message : messages_of(swap_heads)) {
    EXPECT_THAT(message, HasSubstr("heads.ranks is not a division of 3 key "
                                   "heads among 2 ranks"));
  }
  const auto change_scale = [](std::size_t rank, HeadsCall& call) {
    call.options.scale = rank == 1 ? 0.5 : 0.25;
  };
  const auto change_seed = [](std::size_t rank, HeadsCall& call) {
    call.options.dropout = {.p = 0.5, .training = true, .seed = Seed{rank}};
  };
  const auto mean = [](std::size_t, HeadsCall& call) {
    call.options.attn_weights = AttnWeights::mean;
  };
  for (const std::string& message : messages_of(mean)) {
    EXPECT_THAT(message, HasSubstr("attn_weights is mean, expected none, "
                                   "per_head or after_dropout by heads"));
  }
  const auto raw_scores = [](std::size_t, HeadsCall& call) {
    call.options.scores = ScoresStage::raw;
  };
  for (const std::string& message : messages_of(raw_scores)) {
    EXPECT_THAT(message, HasSubstr("scores has shape (0, 0, 0, 0), expected "
                                   "(B, heads of the rank, Lq, Lkv) = (2, "));
  }
  for (const auto& messages :
       {messages_of(change_scale), messages_of(change_seed)}) {
    for (const std::string& message : messages) {
      EXPECT_THAT(message, HasSubstr("rank 1"));
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
