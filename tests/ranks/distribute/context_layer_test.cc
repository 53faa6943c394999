// A layer divided by tokens: the bits of one process, forward and backward.
#include "headwise/distribute/context_layer.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "distribute/counting_rank.h"
#include "distribute/ranked_call.h"
#include "distribute/ranked_layer.h"
#include "headwise/distribute/thread_ranks.h"
#include "module/layer.h"
#include "module/random_layer_call.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// The tokens of a whole call, and who has them.
struct Division {
  AttentionShape shape;
  ShardPlan plan;
};

Division division_of(const Whole<float>& whole, std::size_t ranks,
                     std::size_t tokens) {
  const MultiHeadAttentionConfig& config = whole.layer.config();
  const AttentionShape tensors = {.B = whole.query.extent(0),
                                  .Hq = config.num_heads,
                                  .Hkv = *config.num_kv_heads,
                                  .Lq = whole.query.extent(1),
                                  .Lkv = whole.key.extent(1),
                                  .D = *config.head_dim,
                                  .Dv = *config.v_head_dim};
  AttentionOptions options;
  options.offsets = whole.options.offsets;
  const AttentionShape shape =
      AttentionSpec::create(
          tensors, options,
          {.kv_groups = HeadGroups::create(config.kv_group_sizes).value()})
          .value()
          .shape;
  return {shape, plan_of(shape, ranks, Deal::zig_zag, tokens)};
}

// The rows of a rank's pieces, (1, rows, E).
Tensor<float, 3> rows_of(const Tensor<float, 3>& whole,
                         const AttentionShape& shape,
                         const std::vector<TokenPiece>& pieces, bool keys) {
  auto own =
      Tensor<float, 3>::create({1, tokens_of(pieces), whole.extent(2)}).value();
  std::size_t row = 0;
  for (const TokenPiece& piece : pieces) {
    copy_elements<float, 3>(
        PlaceOfPiece(shape, piece, keys).of(whole.view(), 1),
        part_along(1, own.view(), {row, piece.range.tokens}));
    row += piece.range.tokens;
  }
  return own;
}

// And back.
void put_rows(const Tensor<float, 3>& own, const AttentionShape& shape,
              const std::vector<TokenPiece>& pieces, bool keys,
              TensorView<float, 3> whole, std::size_t axis = 1) {
  std::size_t row = 0;
  for (const TokenPiece& piece : pieces) {
    copy_elements<float, 3>(
        part_along(axis, own.view(), {row, piece.range.tokens}),
        PlaceOfPiece(shape, piece, keys).of(whole, axis));
    row += piece.range.tokens;
  }
}

// What all ranks give together.
struct Joined {
  explicit Joined(const Whole<float>& whole)
      : result{.output = like(whole.d_output),
               .attn_weights = {},
               .lse = Tensor<float, 3>::create({whole.query.extent(0),
                                                whole.layer.config().num_heads,
                                                whole.query.extent(1)})
                          .value()} {
    gradients.query = like(whole.query);
    gradients.key = like(whole.key);
    gradients.value = like(whole.value);
  }

  static Tensor<float, 3> like(const Tensor<float, 3>& tensor) {
    return Tensor<float, 3>::create(tensor.extents()).value();
  }
  Results results() const {
    Results all = results_of(result);
    add_inputs(gradients, all);
    add_params(gradients, all);
    return all;
  }

  MultiHeadAttentionResult<3> result;
  MultiHeadAttentionGradients gradients;
};

Status run_rank(Communicator& group, const Whole<float>& whole,
                const Division& division, ContextLayerCall call,
                Joined& joined) {
  const AttentionShape& shape = division.shape;
  const RankShare& share = call.plan.ranks[group.rank()];
  const auto query = rows_of(whole.query, shape, share.queries, false);
  const auto key = rows_of(whole.key, shape, share.keys, true);
  const auto value = rows_of(whole.value, shape, share.keys, true);
  const auto d_output = rows_of(whole.d_output, shape, share.queries, false);
  const ContextLayerInputs own = {query, key, value};
  HEADWISE_ASSIGN(auto alone, context_layer(group, whole.layer, call, own));
  call.for_backward = true;
  HEADWISE_ASSIGN(const auto run, context_layer(group, whole.layer, call, own));
  EXPECT_TRUE(results_of(alone.result) == results_of(run.result));
  HEADWISE_ASSIGN(auto found,
                  context_layer_backward(group, whole.layer, call, own, run,
                                         d_output.view()));
  // Each rank has rows of its own.
  put_rows(run.result.output, shape, share.queries, false,
           joined.result.output);
  put_rows(run.result.lse, shape, share.queries, false, joined.result.lse, 2);
  MultiHeadAttentionGradients& all = joined.gradients;
  put_rows(found.query, shape, share.queries, false, all.query);
  put_rows(found.key, shape, share.keys, true, all.key);
  put_rows(found.value, shape, share.keys, true, all.value);
  if (group.rank() == 0) {
    MultiHeadAttentionParamGradients& of_params = all;
    of_params = std::move(found);
  }
  return ok();
}

ContextLayerCall call_of(const Whole<float>& whole, const Division& division) {
  return {.B = whole.query.extent(0),
          .Lq = whole.query.extent(1),
          .Lkv = whole.key.extent(1),
          .plan = division.plan,
          .options = whole.options,
          .positions = whole.layer_options.positions,
          .chunk_keys = 128};
}

void expect_same(const Whole<float>& whole, std::size_t ranks,
                 std::size_t tokens = 384) {
  const Division division = division_of(whole, ranks, tokens);
  Joined joined(whole);
  const auto ended = run_ranks(ranks, [&](Communicator& group) {
    return run_rank(group, whole, division, call_of(whole, division), joined);
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
  const Results want = by_one_process(whole);
  const Results got = joined.results();
  expect_part(got, want, std::to_string(ranks) + " ranks");
  EXPECT_EQ(got.size(), want.size());
}

TEST(ContextLayerTest, EveryNumberOfRanks) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const LayerCall call = random_layer_call(layer, 1, 900, 900, 9100);
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    expect_same(whole_of(layer, call, {.mask = causal()}), ranks);
  }
}

// Rank 0 alone sums the gradients of their parameters.
TEST(ContextLayerTest, NormsCostOtherRanksNoTraffic) {
  const auto received_by_rank_1 = [](const MultiHeadAttentionConfig& config) {
    MultiHeadAttention layer = layer_of(config);
    draw_norms(layer);
    const LayerCall call = random_layer_call(layer, 1, 900, 900, 9105);
    const Whole<float> whole = whole_of(layer, call);
    const Division division = division_of(whole, 2, 384);
    Joined joined(whole);
    std::size_t received = 0;
    const auto ended = run_ranks(2, [&](Communicator& group) {
      CountingRank rank(group);
      Status s =
          run_rank(rank, whole, division, call_of(whole, division), joined);
      received = group.rank() == 1 ? rank.received() : received;
      return s;
    });
    for (const Status& status : ended.value()) {
      EXPECT_TRUE(status) << status.error().message();
    }
    return received;
  };
  MultiHeadAttentionConfig normed = kGrouped;
  normed.qk_norm = {.kind = NormKind::rms};
  EXPECT_EQ(received_by_rank_1(normed), received_by_rank_1(kGrouped));
}

TEST(ContextLayerTest, FewerTokensThanRanks) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  expect_same(whole_of(layer, random_layer_call(layer, 1, 3, 2, 9110)), 4);
  expect_same(whole_of(layer, random_layer_call(layer, 2, 1, 1, 9120)), 5);
  expect_same(whole_of(layer, random_layer_call(layer, 2, 0, 4, 9130)), 2);
  expect_same(whole_of(layer, random_layer_call(layer, 0, 3, 3, 9140)), 3);
}

TEST(ContextLayerTest, EveryKindOfLayer) {
  std::vector<MultiHeadAttentionConfig> kinds = kinds_of_layers();
  kinds[4].qk_norm = {.kind = NormKind::rms, .over = NormOver::projection};
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    MultiHeadAttention layer = layer_of(kinds[n]);
    draw_norms(layer);
    const LayerCall call = random_layer_call(
        layer, 2, 400, 411, 9200 + 10 * static_cast<std::uint32_t>(n));
    SCOPED_TRACE("kind " + std::to_string(n));
    expect_same(whole_of(layer, call, {.mask = causal(), .query_start = 4}), 3);
  }
}

TEST(ContextLayerTest, OptionsOfTheOperation) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const LayerCall call = random_layer_call(layer, 2, 400, 400, 9300);
  const auto bias = uniform<2>({400, 400}, 9310);  // shared by the heads
  const auto slopes = uniform<1>({6}, 9311);
  const auto sinks = uniform<1>({6}, 9312);
  const auto table = uniform<2>({8, 6}, 9313);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {17, 400});
  expect_same(whole_of(layer, call,
                       {.mask = causal() & key_lengths(lengths),
                        .softcap = 3.0,
                        .bias = dense(bias.view(), {Axis::Lq, Axis::Lkv}),
                        .t5_bias = {.table = table},
                        .alibi = slopes,
                        .sinks = sinks}),
              3);
}

TEST(ContextLayerTest, RaggedBatchesAndPositions) {
  MultiHeadAttentionConfig config = kGrouped;
  config.qk_norm = {.kind = NormKind::rms};
  config.rotary = Rotary::create({.rotary_dim = 24}).value();
  MultiHeadAttention layer = layer_of(config);
  draw_norms(layer);
  const LayerCall call = random_layer_call(layer, 1, 560, 570, 9400);
  const auto queries = tensor_of<std::int64_t, 1>({4}, {0, 540, 540, 560});
  const auto keys = tensor_of<std::int64_t, 1>({4}, {0, 540, 550, 570});
  const AttentionOptions options = {.mask = causal(),
                                    .query_start = QueryStart::bottom_right(),
                                    .offsets = {queries, keys}};
  auto at = Tensor<std::int64_t, 2>::create({1, 570}).value();
  for (std::size_t n = 0; n < 570; ++n) {
    at(0, n) = static_cast<std::int64_t>(3 * n % 100);
  }
  for (const HeadPositions& positions :
       {HeadPositions{},
        HeadPositions{part_along(1, std::as_const(at).view(), {0, 560}), at}}) {
    expect_same(whole_of(layer, call, options, {.positions = positions}), 3);
  }
}

TEST(ContextLayerTest, Dropout) {
  MultiHeadAttentionConfig config = kGrouped;
  config.dropout = 0.5;
  const MultiHeadAttention layer = layer_of(config);
  const LayerCall call = random_layer_call(layer, 1, 500, 390, 9500);
  expect_same(
      whole_of(layer, call,
               {.dropout = {.training = true, .seed = Seed{3}, .step = 4}}),
      3);
}

// A token whose loss is 0 in one rank's features counts for no feature or for
// all of them, and its input is infinite.
TEST(ContextLayerTest, ATokenCountsForAllFeaturesOrForNone) {
  const MultiHeadAttention layer = layer_of(
      {.embed_dim = 32, .num_heads = 2, .bias = false, .out_proj = false});
  LayerCall call = random_layer_call(layer, 1, 400, 400, 9600);
  for (std::size_t f = 0; f < 32; ++f) {
    call.d_output(0, 390, f) = f < 16 ? 1.0f : 0.0f;
  }
  call.query(0, 390, 5) = std::numeric_limits<float>::infinity();
  expect_same(whole_of(layer, call), 2);
}

TEST(ContextLayerTest, KeysThatMustBeInOnePlace) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const LayerCall call = random_layer_call(layer, 1, 450, 450, 9700);
  const Whole<float> whole = whole_of(
      layer, call,
      {.mask = causal(), .query_start = -60, .empty_rows = EmptyRow::uniform});
  const Division division = division_of(whole, 2, 384);
  ContextLayerCall gathered = call_of(whole, division);
  gathered.keys = KeyTransport::gathered;
  Joined joined(whole);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    const RankShare& share = division.plan.ranks[group.rank()];
    const auto rows = [&](const Tensor<float, 3>& of, bool keys) {
      return rows_of(of, division.shape, keys ? share.keys : share.queries,
                     keys);
    };
    const auto query = rows(whole.query, false);
    const auto key = rows(whole.key, true);
    const auto value = rows(whole.value, true);
    HEADWISE_ASSIGN(const auto run,
                    context_layer(group, layer, gathered, {query, key, value}));
    put_rows(run.result.output, division.shape, share.queries, false,
             joined.result.output);
    return ok();
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
  EXPECT_TRUE(results_of(joined.result).at("output") ==
              by_one_process(whole).at("output"));
}

// ---- Errors ----

// Of two ranks, which get what change(call, inputs, rank) leaves.
template <class Change>
std::vector<std::string> messages_of(const MultiHeadAttention& layer,
                                     const Change& change) {
  const LayerCall call = random_layer_call(layer, 1, 400, 400, 9800);
  const Whole<float> whole = whole_of(layer, call);
  const Division division = division_of(whole, 2, 384);
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    const RankShare& share = division.plan.ranks[group.rank()];
    const auto query =
        rows_of(whole.query, division.shape, share.queries, false);
    const auto key = rows_of(whole.key, division.shape, share.keys, true);
    const auto value = rows_of(whole.value, division.shape, share.keys, true);
    ContextLayerCall own_call = call_of(whole, division);
    ContextLayerInputs own = {query, key, value};
    change(own_call, own, group.rank());
    const auto run = context_layer(group, layer, own_call, own);
    messages[group.rank()] = run ? "no error" : run.error().message();
    return run ? ok() : Status(run.error());
  });
  EXPECT_TRUE(ended);
  return messages;
}

TEST(ContextLayerErrorsTest, AMistakeOfOneRankIsAnErrorOfAll) {
  MultiHeadAttentionConfig config = kGrouped;
  config.rotary = Rotary::create({.rotary_dim = 24}).value();
  const MultiHeadAttention layer = layer_of(config);
  const auto short_positions = Tensor<std::int64_t, 2>::create({1, 3}).value();
  const auto of_shape = messages_of(
      layer, [](ContextLayerCall&, ContextLayerInputs& own, std::size_t rank) {
        if (rank == 1) {
          own.value = own.key;
        }
      });
  const auto of_positions = messages_of(
      layer,
      [&](ContextLayerCall& call, ContextLayerInputs&, std::size_t rank) {
        if (rank == 0) {
          call.positions.key_positions = short_positions;
        }
      });
  const auto of_options = messages_of(
      layer, [](ContextLayerCall& call, ContextLayerInputs&, std::size_t rank) {
        call.options.scale = rank == 0 ? 0.5 : 0.25;
      });
  const auto of_kind = messages_of(
      layer, [](ContextLayerCall& call, ContextLayerInputs&, std::size_t rank) {
        call.for_backward = rank == 0;
      });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(of_shape[rank], HasSubstr("value has shape (1, "));
    EXPECT_THAT(of_positions[rank], HasSubstr("key_positions has shape"));
    EXPECT_THAT(of_options[rank], HasSubstr("on rank 1, expected"));
    EXPECT_THAT(of_kind[rank], HasSubstr("on rank 1, expected"));
  }
}

TEST(ContextLayerErrorsTest, WhatARankCannotDoIsRefusedByName) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto refused = [&](const AttentionOptions& options) {
    return messages_of(layer, [&](ContextLayerCall& call, ContextLayerInputs&,
                                  std::size_t) { call.options = options; })[0];
  };
  EXPECT_THAT(refused({.attn_weights = AttnWeights::per_head}),
              HasSubstr("attn_weights"));
  EXPECT_THAT(refused({.scores = ScoresStage::raw}), HasSubstr("scores"));
  EXPECT_THAT(refused({.empty_rows = EmptyRow::uniform}),
              HasSubstr("empty_rows"));
}

}  // namespace
}  // namespace headwise::testing_support
