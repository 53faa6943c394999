// A layer over a cache of several ranks: the bits of one with its own cache.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distribute/ranked_layer.h"
#include "headwise/distribute/context_layer.h"
#include "headwise/distribute/thread_ranks.h"
#include "module/layer.h"
#include "steps/call_part.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using internal::part_along;

constexpr std::size_t kTokens = 300;

MultiHeadAttentionConfig config_of_steps() {
  MultiHeadAttentionConfig config = kGrouped;
  config.qk_norm = {.kind = NormKind::rms, .over = NormOver::projection};
  config.rotary = Rotary::create({.rotary_dim = 24}).value();
  return config;
}

// A prompt, and then steps of several tokens and of one.
const std::vector<std::pair<std::size_t, std::size_t>> kSteps = {
    {0, 290}, {290, 7}, {297, 1}, {298, 2}};

using Outputs = std::vector<Tensor<float, 3>>;

Outputs by_one_process(const MultiHeadAttention& layer, DType dtype,
                       const LayerCall& call, const AttentionOptions& options) {
  auto cache = KvCache::create({.num_kv_heads = 3,
                                .head_dim = 24,
                                .v_head_dim = 5,
                                .dtype = dtype,
                                .max_tokens = 1024,
                                .max_sequences = 2})
                   .value();
  const std::vector<SequenceId> ids = {cache.add().value(),
                                       cache.add().value()};
  LayerOptions layer_options;
  layer_options.cache = &cache;
  layer_options.sequences = ids;
  Outputs outputs;
  for (const auto& [first, count] : kSteps) {
    const auto part = [&, first = first,
                       count = count](const Tensor<float, 3>& whole) {
      return part_along(1, whole.view(), {first, count});
    };
    outputs.push_back(layer
                          .forward(part(call.query), part(call.key),
                                   part(call.value), options, layer_options)
                          .value()
                          .output);
  }
  return outputs;
}

Status by_ranks(Communicator& group, const MultiHeadAttention& layer,
                DType dtype, const LayerCall& call,
                const AttentionOptions& options, const Outputs& want) {
  auto cache = ContextCache::create({.rank = {.num_kv_heads = 3,
                                              .head_dim = 24,
                                              .v_head_dim = 5,
                                              .dtype = dtype,
                                              .max_tokens = 1024,
                                              .max_sequences = 2},
                                     .share_tokens = 128},
                                    group.ranks(), group.rank())
                   .value();
  const std::vector<SequenceId> ids = {cache.add().value(),
                                       cache.add().value()};
  for (std::size_t n = 0; n < kSteps.size(); ++n) {
    const auto part = [&](const Tensor<float, 3>& whole) {
      return part_along(1, whole.view(), {kSteps[n].first, kSteps[n].second});
    };
    HEADWISE_ASSIGN(
        const auto output,
        context_layer_step(group, layer, cache, ids,
                           {part(call.query), part(call.key), part(call.value)},
                           options));
    EXPECT_TRUE(same_bits(output, want[n]))
        << "step " << n << " of rank " << group.rank();
  }
  return ok();
}

void expect_same(const MultiHeadAttentionConfig& config, DType dtype,
                 std::size_t ranks, const AttentionOptions& options) {
  MultiHeadAttention layer = layer_of(config);
  draw_norms(layer);
  const auto call = random_layer_call(layer, 2, kTokens, kTokens, 9950);
  const Outputs want = by_one_process(layer, dtype, call, options);
  const auto ended = run_ranks(ranks, [&](Communicator& group) {
    return by_ranks(group, layer, dtype, call, options, want);
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
}

TEST(ContextLayerStepTest, HasTheBitsOfOneProcess) {
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    expect_same(config_of_steps(), DType::float32, ranks, {.mask = causal()});
  }
}

TEST(ContextLayerStepTest, OtherLayersAndCaches) {
  MultiHeadAttentionConfig bare = kGrouped;
  bare.out_proj = bare.value_proj = bare.bias = false;
  bare.vdim = 15;
  expect_same(bare, DType::int8, 3, {.mask = window(150, 0), .softcap = 2.0});
  MultiHeadAttentionConfig additive = kGrouped;
  additive.scoring = Scoring::additive;
  expect_same(additive, DType::bfloat16, 2, {.mask = causal()});
  MultiHeadAttentionConfig rounded = config_of_steps();
  rounded.arithmetic = Arithmetic::bf16;
  expect_same(rounded, DType::float16, 3, {.mask = causal()});
}

TEST(ContextLayerStepTest, ARaggedBatch) {
  MultiHeadAttention layer = layer_of(config_of_steps());
  draw_norms(layer);
  const auto call = random_layer_call(layer, 1, 200, 200, 9960);
  const auto offsets = tensor_of<std::int64_t, 1>({4}, {0, 150, 150, 200});
  const AttentionOptions options = {.mask = causal(), .offsets = offsets};
  const KvCacheOptions stored = {.num_kv_heads = 3,
                                 .head_dim = 24,
                                 .v_head_dim = 5,
                                 .max_tokens = 1024,
                                 .max_sequences = 3};
  auto alone = KvCache::create(stored).value();
  const std::vector<SequenceId> own = {alone.add().value(), alone.add().value(),
                                       alone.add().value()};
  LayerOptions layer_options;
  layer_options.cache = &alone;
  layer_options.sequences = own;
  const auto want =
      layer.forward(call.query, call.key, call.value, options, layer_options)
          .value()
          .output;
  const auto ended = run_ranks(3, [&](Communicator& group) -> Status {
    auto cache = ContextCache::create({.rank = stored, .share_tokens = 128}, 3,
                                      group.rank())
                     .value();
    const std::vector<SequenceId> ids = {
        cache.add().value(), cache.add().value(), cache.add().value()};
    HEADWISE_ASSIGN(
        const auto output,
        context_layer_step(group, layer, cache, ids,
                           {call.query, call.key, call.value}, options));
    EXPECT_TRUE(same_bits(output, want));
    return ok();
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
}

ContextCache small_cache(const Communicator& group) {
  return ContextCache::create({.rank = {.num_kv_heads = 3,
                                        .head_dim = 24,
                                        .v_head_dim = 5,
                                        .max_tokens = 1024,
                                        .max_sequences = 2}},
                              group.ranks(), group.rank())
      .value();
}

// Only the last rank projects it. All say what one process says.
TEST(ContextLayerStepTest, APositionBeyondTheTablesIsAnErrorOfAll) {
  const auto table = uniform<2>({292, 12}, 9980);
  MultiHeadAttentionConfig config = kGrouped;
  config.rotary = Rotary::from_tables(table, table).value();
  const MultiHeadAttention layer = layer_of(config);
  const auto call = random_layer_call(layer, 2, kTokens, kTokens, 9990);
  const auto part = [](const Tensor<float, 3>& whole, std::size_t sequences,
                       std::size_t count) {
    return TensorView<const float, 3>(whole.data(),
                                      {sequences, count, whole.extent(2)},
                                      whole.view().strides());
  };
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    auto cache = small_cache(group);
    const std::vector<SequenceId> ids = {cache.add().value(),
                                         cache.add().value()};
    const auto step = [&](std::span<const SequenceId> of, std::size_t count) {
      return context_layer_step(
          group, layer, cache, of,
          {part(call.query, of.size(), count), part(call.key, of.size(), count),
           part(call.value, of.size(), count)});
    };
    HEADWISE_TRY(step(std::span(ids).subspan(1), 290));
    const auto output = step(ids, 7);
    messages[group.rank()] = output ? "no error" : output.error().message();
    EXPECT_EQ(cache.length(ids[0]).value(), 0u);
    return ok();
  });
  EXPECT_TRUE(ended);
  for (const std::string& message : messages) {
    EXPECT_THAT(message,
                HasSubstr("query_positions[1][2] is 292, expected 0 to 291"));
  }
}

TEST(ContextLayerStepTest, AMistakeOfOneRankIsAnErrorOfAll) {
  const MultiHeadAttention layer = layer_of(kGrouped);
  const auto call = random_layer_call(layer, 1, 5, 5, 9970);
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    auto cache = small_cache(group);
    const SequenceId id = cache.add().value();
    const std::vector<SequenceId> ids(group.rank() == 0 ? 1 : 2, id);
    const auto output = context_layer_step(group, layer, cache, ids,
                                           {call.query, call.key, call.value});
    messages[group.rank()] = output ? "no error" : output.error().message();
    return output ? ok() : Status(output.error());
  });
  EXPECT_TRUE(ended);
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("ids has shape (2), expected (B) = (1)"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
