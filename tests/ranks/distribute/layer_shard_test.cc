// A layer divided by heads: the bits of one process, forward and backward.
#include "headwise/distribute/layer_shard.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "distribute/ranked_layer.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/distribute/thread_ranks.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "steps/call_part.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using internal::part_along;

// What one rank gets; only rank 0 has the gradients of parameters.
template <class T>
Status run_shard(Communicator& group, const Whole<T>& whole,
                 Results& forward_only, Results& both_ways) {
  HEADWISE_ASSIGN(auto shard,
                  LayerShard::create(whole.layer, group.ranks(), group.rank(),
                                     {.training = true}));
  HEADWISE_ASSIGN(
      const auto result,
      shard.forward(group, whole.query.view(), whole.key.view(),
                    whole.value.view(), whole.options, whole.layer_options));
  forward_only = results_of(result);
  HEADWISE_ASSIGN(auto saved,
                  shard.forward_for_backward(
                      group, whole.query.view(), whole.key.view(),
                      whole.value.view(), whole.options, whole.layer_options));
  both_ways = results_of(saved.result());
  HEADWISE_ASSIGN(auto gradients,
                  shard.backward(group, saved, whole.d_output.view()));
  add_inputs(gradients, both_ways);
  HEADWISE_ASSIGN(auto params, shard.gather(group, std::move(gradients)));
  if (group.rank() == 0) {
    add_params(params, both_ways);
  }
  return ok();
}

template <class T>
void expect_same(const Whole<T>& whole, std::size_t ranks) {
  const Results want = by_one_process(whole);
  std::vector<Results> forward_only(ranks);
  std::vector<Results> both_ways(ranks);
  const auto ended = run_ranks(ranks, [&](Communicator& group) {
    return run_shard(group, whole, forward_only[group.rank()],
                     both_ways[group.rank()]);
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string of =
        "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
    expect_part(forward_only[rank], want, of);
    expect_part(both_ways[rank], want, of);
  }
  EXPECT_EQ(both_ways[0].size(), want.size());
}

TEST(LayerShardTest, EveryNumberOfRanks) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const LayerCall call = random_layer_call(layer, 2, 9, 150, 8100);
  for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
    expect_same(whole_of(layer, call, {.mask = causal(), .query_start = 140}),
                ranks);
  }
}

// More than a block of 128 features is summed for the output and back.
TEST(LayerShardTest, SumsOverSeveralBlocksOfFeatures) {
  const MultiHeadAttention layer =
      layer_of({.embed_dim = 264, .num_heads = 11});
  const LayerCall call = random_layer_call(layer, 1, 5, 5, 8110);
  for (const std::size_t ranks : {2u, 3u, 16u}) {
    expect_same(whole_of(layer, call), ranks);
  }
}

TEST(LayerShardTest, EveryKindOfLayer) {
  const std::vector<MultiHeadAttentionConfig> kinds = kinds_of_layers();
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    MultiHeadAttention layer = layer_of(kinds[n]);
    draw_norms(layer);
    const LayerCall call = random_layer_call(
        layer, 2, 7, 11, 8200 + 10 * static_cast<std::uint32_t>(n));
    SCOPED_TRACE("kind " + std::to_string(n));
    for (const std::size_t ranks : {2u, 3u, 4u}) {
      expect_same(whole_of(layer, call, {.mask = causal(), .query_start = 4}),
                  ranks);
    }
  }
}

TEST(LayerShardTest, OptionsByHead) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const LayerCall call = random_layer_call(layer, 2, 30, 30, 8300);
  const auto bias = uniform<4>({2, 6, 30, 30}, 8310);
  const auto slopes = uniform<1>({6}, 8311);
  const auto sinks = uniform<1>({6}, 8312);
  const auto table = uniform<2>({8, 6}, 8313);
  const auto gates = uniform<1>({6}, 8314);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {17, 30});
  const AttentionOptions options = {
      .mask = causal() & key_lengths(lengths),
      .softcap = 3.0,
      .bias = dense(bias.view(), {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}),
      .t5_bias = {.table = table},
      .alibi = slopes,
      .sinks = sinks};
  for (const std::size_t ranks : {2u, 5u}) {
    expect_same(whole_of(layer, call, options, {.head_gates = gates}), ranks);
  }
}

TEST(LayerShardTest, RaggedBatches) {
  MultiHeadAttentionConfig config = kGrouped;
  config.qk_norm = {.kind = NormKind::rms};
  config.rotary = Rotary::create({.rotary_dim = 24}).value();
  MultiHeadAttention layer = layer_of(config);
  draw_norms(layer);
  const LayerCall call = random_layer_call(layer, 1, 160, 170, 8400);
  const auto queries = tensor_of<std::int64_t, 1>({4}, {0, 140, 140, 160});
  const auto keys = tensor_of<std::int64_t, 1>({4}, {0, 140, 150, 170});
  for (const std::size_t ranks : {2u, 4u}) {
    expect_same(whole_of(layer, call,
                         {.mask = causal(),
                          .query_start = QueryStart::bottom_right(),
                          .offsets = {queries, keys}}),
                ranks);
  }
}

TEST(LayerShardTest, Dropout) {
  MultiHeadAttentionConfig config = kGrouped;
  config.dropout = 0.5;
  const MultiHeadAttention dropping = layer_of(config);
  const LayerCall call = random_layer_call(dropping, 2, 4, 6, 8500);
  expect_same(
      whole_of(dropping, call,
               {.dropout = {.training = true, .seed = Seed{3}, .step = 4}}),
      4);
  const MultiHeadAttention layer = layer_of(kGrouped);
  auto keep = Tensor<bool, 4>::create({2, 6, 4, 6}).value();
  for (std::size_t n = 0; n < keep.size(); ++n) {
    keep.data()[n] = n % 5 != 2;
  }
  expect_same(
      whole_of(layer, call,
               {.dropout = {.p = 0.25, .training = true, .keep_mask = keep}}),
      2);
}

template <class T>
void expect_bits_of_type(const MultiHeadAttentionConfig& config) {
  const MultiHeadAttention layer = layer_of(config);
  const LayerCall call = random_layer_call(layer, 2, 6, 9, 8600);
  const auto query = narrowed_to<T>(call.query);
  const auto key = narrowed_to<T>(call.key);
  const auto value = narrowed_to<T>(call.value);
  const auto d_output = narrowed_to<T>(call.d_output);
  expect_same<T>({layer, query, key, value, d_output}, 3);
}

TEST(LayerShardTest, SixteenBitInputs) {
  MultiHeadAttentionConfig bare = kGrouped;
  bare.out_proj = false;  // its backward pass begins at the rounded output
  for (const MultiHeadAttentionConfig& config : {kGrouped, bare}) {
    expect_bits_of_type<BFloat16>(config);
    expect_bits_of_type<Float16>(config);
  }
}

// The loss depends on a token through the heads of one rank alone, and the
// token's input is infinite: it counts in the gradients of every head.
TEST(LayerShardTest, ATokenCountsForAllHeadsOrForNone) {
  const MultiHeadAttention layer = layer_of(
      {.embed_dim = 32, .num_heads = 2, .bias = false, .out_proj = false});
  LayerCall call = random_layer_call(layer, 1, 3, 3, 8700);
  for (std::size_t f = 0; f < 32; ++f) {
    call.d_output(0, 1, f) = f < 16 ? 1.0f : 0.0f;
  }
  call.query(0, 1, 5) = std::numeric_limits<float>::infinity();
  expect_same(whole_of(layer, call), 2);
}

// Each rank has those of its heads.
TEST(LayerShardTest, AttentionWeightsScoresAndTheirGradients) {
  MultiHeadAttentionConfig config = kGrouped;
  config.add_zero_attn = true;
  const MultiHeadAttention layer = layer_of(config);
  LayerCall call = random_layer_call(layer, 2, 7, 9, 8750);
  call.d_attn_weights = uniform<4>({2, 6, 7, 10}, 8760);
  const AttentionOptions options = {
      .mask = causal(),
      .dropout = {.p = 0.25, .training = true, .seed = Seed{3}, .step = 4},
      .attn_weights = AttnWeights::after_dropout,
      .scores = ScoresStage::bias};
  auto saved =
      layer.forward_for_backward(call.query, call.key, call.value, options)
          .value();
  const auto gradients =
      layer.backward(saved, call.d_output, call.d_weights_view()).value();
  const auto of_rank = [](const Tensor<float, 4>& whole,
                          const HeadRange& heads) {
    return part_along(1, whole.view(), {heads.first, heads.count});
  };
  for (const std::size_t ranks : {2u, 3u, 4u}) {
    const ShardPlan plan = plan_shards({.ranks = ranks,
                                        .parallel = Parallel::heads,
                                        .sequences = {{7, 9}},
                                        .heads = 6,
                                        .kv_heads = 3})
                               .value();
    const auto ended = run_ranks(ranks, [&](Communicator& group) -> Status {
      const HeadRange& heads = plan.ranks[group.rank()].heads;
      const auto shard =
          LayerShard::create(layer, ranks, group.rank(), {.training = true})
              .value();
      HEADWISE_ASSIGN(auto own, shard.forward_for_backward(
                                    group, call.query.view(), call.key.view(),
                                    call.value.view(), options));
      for (const auto& [got, want] :
           {std::pair(&own.result().attn_weights, &saved.result().attn_weights),
            {&own.result().scores, &saved.result().scores}}) {
        for (std::size_t h = 0; h < heads.count; ++h) {
          const auto a = part_along(1, got->view(), {h, 1});
          const auto b = part_along(1, of_rank(*want, heads), {h, 1});
          for (std::size_t n = 0; n < std::size_t{2} * 7 * 10; ++n) {
            EXPECT_EQ(a(n / 70, 0, n / 10 % 7, n % 10),
                      b(n / 70, 0, n / 10 % 7, n % 10));
          }
        }
      }
      HEADWISE_ASSIGN(auto back,
                      shard.backward(group, own, call.d_output.view(),
                                     of_rank(call.d_attn_weights, heads)));
      EXPECT_TRUE(same_bits(back.query, gradients.query));
      EXPECT_TRUE(same_bits(back.key, gradients.key));
      return ok();
    });
    for (const Status& status : ended.value()) {
      ASSERT_TRUE(status) << status.error().message();
    }
  }
}

TEST(LayerShardTest, EmptyBatches) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  expect_same(whole_of(layer, random_layer_call(layer, 0, 3, 3, 8800)), 2);
  expect_same(whole_of(layer, random_layer_call(layer, 2, 0, 4, 8800)), 4);
}

TEST(LayerShardTest, ARankKeepsItsShareOfTheParameters) {
  const MultiHeadAttention layer = layer_of({.embed_dim = 512, .num_heads = 8});
  const auto bytes = [&](std::size_t ranks, bool training) {
    std::size_t most = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      most = std::max(
          most, LayerShard::create(layer, ranks, rank, {.training = training})
                    .value()
                    .parameter_bytes());
    }
    return static_cast<double>(most);
  };
  for (const std::size_t ranks : {2u, 4u, 8u}) {
    for (const bool training : {false, true}) {
      EXPECT_LE(bytes(ranks, training),
                1.01 * bytes(1, training) / static_cast<double>(ranks));
    }
  }
}

// ---- Errors ----

template <class Work>
std::vector<std::string> messages_of(const MultiHeadAttention& layer,
                                     bool training, const Work& work) {
  const LayerCall call = random_layer_call(layer, 2, 4, 4, 8900);
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    const auto shard =
        LayerShard::create(layer, 2, group.rank(), {.training = training})
            .value();
    Status s = work(group, shard, call);
    messages[group.rank()] = s ? "no error" : s.error().message();
    return s;
  });
  EXPECT_TRUE(ended);
  return messages;
}

template <class Result>
Status status_of(const Result& result) {
  return result ? ok() : Status(result.error());
}

std::vector<std::string> messages_of_options(
    const AttentionOptions& options, bool training = false,
    const LayerOptions& layer_options = {}) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  return messages_of(
      layer, training,
      [&](Communicator& group, const LayerShard& shard, const LayerCall& call) {
        return status_of(shard.forward_for_backward(
            group, call.query.view(), call.key.view(), call.value.view(),
            options, layer_options));
      });
}

TEST(LayerShardErrorsTest, WhatARankCannotDoIsRefusedByName) {
  const auto bias = uniform<3>({2, 4, 4}, 8910);
  const std::vector<std::pair<AttentionOptions, std::string>> refused = {
      {{.attn_weights = AttnWeights::mean}, "attn_weights"},
      {{.bias = dense(bias.view(), {Axis::B, Axis::Lq, Axis::Lkv})},
       "bias is shared by the heads"}};
  for (const auto& [options, name] : refused) {
    for (const std::string& message : messages_of_options(options, true)) {
      EXPECT_THAT(message, HasSubstr(name));
    }
  }
  for (const std::string& message : messages_of_options({}, false)) {
    EXPECT_THAT(message, HasSubstr("training is false"));
  }
}

TEST(LayerShardErrorsTest, RanksWithOtherCallsAreToldApart) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const std::vector<std::array<AttentionOptions, 2>> of_ranks = {
      {{{.scale = 0.5}, {.scale = 0.25}}},
      {{{.mask = window(2, 0)}, {.mask = window(1, 0)}}}};
  for (const auto& options : of_ranks) {
    const auto work = [&](Communicator& group, const LayerShard& shard,
                          const LayerCall& call) {
      return status_of(shard.forward(group, call.query.view(), call.key.view(),
                                     call.value.view(), options[group.rank()]));
    };
    for (const std::string& message : messages_of(layer, false, work)) {
      EXPECT_THAT(message, HasSubstr("on rank 1, expected"));
    }
  }
}

TEST(LayerShardErrorsTest, AShapeOfOneRankIsAnErrorOfAll) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto wrong = uniform<3>({2, 4, 41}, 8920);
  const auto work = [&](Communicator& group, const LayerShard& shard,
                        const LayerCall& call) {
    return status_of(shard.forward(
        group, group.rank() == 1 ? wrong.view() : call.query.view(),
        call.key.view(), call.value.view()));
  };
  for (const std::string& message : messages_of(layer, false, work)) {
    EXPECT_THAT(message, HasSubstr("query has shape (2, 4, 41)"));
  }
}

TEST(LayerShardErrorsTest, PositionsOfOneRankAreAnErrorOfAll) {
  MultiHeadAttentionConfig config = kGrouped;
  config.rotary = Rotary::create({.rotary_dim = 24}).value();
  const MultiHeadAttention layer = layer_of(config);
  const LayerCall call = random_layer_call(layer, 2, 4, 4, 8930);
  const auto wrong = Tensor<std::int64_t, 2>::create({2, 3}).value();
  const auto ended = run_ranks(2, [&](Communicator& group) {
    const auto shard = LayerShard::create(layer, 2, group.rank()).value();
    LayerOptions options;
    if (group.rank() == 1) {
      options.positions.query_positions = wrong;
    }
    return status_of(shard.forward(group, call.query.view(), call.key.view(),
                                   call.value.view(), {}, options));
  });
  for (const Status& status : ended.value()) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::shape_mismatch);
    EXPECT_THAT(status.error().message(), HasSubstr("on rank 1"));
  }
}

TEST(LayerShardErrorsTest, LayersThatCannotBeDivided) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto message = [](const MultiHeadAttention& of, std::size_t ranks,
                          std::size_t rank) {
    return LayerShard::create(of, ranks, rank).error().message();
  };
  EXPECT_THAT(message(layer, 0, 0), HasSubstr("ranks is 0"));
  EXPECT_THAT(message(layer, 1025, 0), HasSubstr("ranks is 1025"));
  EXPECT_THAT(message(layer, 2, 2), HasSubstr("rank is 2"));
  MultiHeadAttentionConfig config = kGrouped;
  config.qk_norm = {.over = NormOver::projection};
  EXPECT_THAT(message(layer_of(config), 2, 0),
              HasSubstr("qk_norm is over the whole projection"));
  config = {.embed_dim = 8, .num_heads = 2, .kdim = kOpenSize};
  EXPECT_THAT(message(layer_of(config), 2, 0), HasSubstr("fix_sizes"));
}

TEST(LayerShardErrorsTest, SavedStatesAreUsedOnceByTheirShard) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto work = [&](Communicator& group, const LayerShard& shard,
                        const LayerCall& call) -> Status {
    HEADWISE_ASSIGN(auto saved, shard.forward_for_backward(
                                    group, call.query.view(), call.key.view(),
                                    call.value.view()));
    HEADWISE_TRY(status_of(shard.backward(group, saved, call.d_output.view())));
    return status_of(shard.backward(group, saved, call.d_output.view()));
  };
  for (const std::string& message : messages_of(layer, true, work)) {
    EXPECT_THAT(message, HasSubstr("saved is used already"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
