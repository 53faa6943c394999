// The layer over a cache: a text in any chunks has the output of one call.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "headwise/decode/kv_cache.h"
#include "module/layer.h"
#include "support/errors.h"
#include "support/half_tensors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kE = 24;

MultiHeadAttention layer_with_positions() {
  return layer_of(
      {.embed_dim = kE,
       .num_heads = 4,
       .num_kv_heads = 2,
       .rotary = Rotary::create({.rotary_dim = 6, .base = 100}).value()});
}

KvCache cache_for_layer() {
  return KvCache::create({.num_kv_heads = 2,
                          .head_dim = 6,
                          .page_size = 16,
                          .max_tokens = 512,
                          .max_sequences = 3})
      .value();
}

TEST(LayerCacheTest, ChunksHaveTheBitsOfOneCall) {
  const MultiHeadAttention layer = layer_with_positions();
  const auto x = uniform<3>({2, 70, kE}, 4100);
  const auto gates = uniform<1>({4}, 4101, 0, 2);
  const AttentionOptions options = {.mask = causal()};
  const auto want = forward_of(layer, x, options, {.head_gates = gates.view()});
  for (const std::size_t chunk : {1u, 9u, 70u}) {
    KvCache cache = cache_for_layer();
    const std::vector<SequenceId> ids = {cache.add().value(),
                                         cache.add().value()};
    for (std::size_t n = 0; n < 70; n += chunk) {
      const std::size_t count = std::min<std::size_t>(chunk, 70 - n);
      const TensorView<const float, 3> part(&x(0, n, 0), {2, count, kE},
                                            x.view().strides());
      const auto got = layer
                           .forward(part, part, part, options,
                                    {.head_gates = gates.view(),
                                     .cache = &cache,
                                     .sequences = ids})
                           .value();
      for (std::size_t b = 0; b < 2; ++b) {
        EXPECT_TRUE(same_bits({&got.output(b, 0, 0), count * kE},
                              {&want.output(b, n, 0), count * kE}));
        EXPECT_EQ(got.lse(b, 3, 0), want.lse(b, 3, n));
      }
    }
  }
}

TEST(LayerCacheTest, ScoresAndTheMeanOfTheWeightsHaveTheBitsOfOneCall) {
  const MultiHeadAttention layer = layer_with_positions();
  const auto x = uniform<3>({2, 20, kE}, 4140);
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::mean,
                                    .scores = ScoresStage::raw};
  KvCache cache = cache_for_layer();
  const std::vector<SequenceId> ids = {cache.add().value(),
                                       cache.add().value()};
  const auto got =
      layer.forward(x, x, x, options, {.cache = &cache, .sequences = ids})
          .value();
  const auto want = forward_of(layer, x, options);
  EXPECT_EQ(got.scores.extents(), (Extents<4>{2, 4, 20, 20}));
  EXPECT_TRUE(same_bits(got.scores, want.scores));
  EXPECT_EQ(got.attn_weights.extents(), (Extents<4>{2, 1, 20, 20}));
  EXPECT_TRUE(same_bits(got.attn_weights, want.attn_weights));
}

TEST(LayerCacheTest, ARaggedBatchHasTheBitsOfEachSequence) {
  const MultiHeadAttention layer = layer_with_positions();
  const auto x = uniform<3>({1, 50, kE}, 4110);
  KvCache cache = cache_for_layer();
  const std::vector<SequenceId> ids = {cache.add().value(),
                                       cache.add().value()};
  // Of the rows 20 and 30 belong to each; they come in two calls.
  const std::vector<std::vector<std::int64_t>> calls = {{0, 13, 30},
                                                        {0, 7, 20}};
  std::vector<std::vector<float>> got(2);
  std::vector<std::size_t> at = {0, 20};
  for (const std::vector<std::int64_t>& offsets : calls) {
    const auto rows = static_cast<std::size_t>(offsets.back());
    auto part = filled<float, 3>({1, rows, kE}, 0);
    for (std::size_t b = 0; b < 2; ++b) {
      const auto first = static_cast<std::size_t>(offsets[b]);
      const auto count = static_cast<std::size_t>(offsets[b + 1]) - first;
      std::copy_n(&x(0, at[b], 0), count * kE, &part(0, first, 0));
      at[b] += count;
    }
    const auto result = layer
                            .forward(part.view(), part.view(), part.view(),
                                     {.mask = causal(), .offsets = offsets},
                                     {.cache = &cache, .sequences = ids})
                            .value();
    for (std::size_t b = 0; b < 2; ++b) {
      got[b].insert(
          got[b].end(),
          result.output.data() + static_cast<std::size_t>(offsets[b]) * kE,
          result.output.data() + static_cast<std::size_t>(offsets[b + 1]) * kE);
    }
  }
  const std::vector<std::int64_t> whole = {0, 20, 50};
  const auto want = forward_of(layer, x, {.mask = causal(), .offsets = whole});
  EXPECT_TRUE(same_bits(got[0], {want.output.data(), 20 * kE}));
  EXPECT_TRUE(same_bits(got[1], {want.output.data() + 20 * kE, 30 * kE}));
}

// The layer widens its inputs and rounds its output once, with a cache too.
TEST(LayerCacheTest, InputsOf16BitsGiveTheFloatOutputRoundedOnce) {
  const MultiHeadAttention layer = layer_with_positions();
  const auto half = narrowed_to<BFloat16>(uniform<3>({1, 30, kE}, 4130));
  const auto wide = widened_to_float(half);
  const AttentionOptions options = {.mask = causal()};
  KvCache cache = cache_for_layer();
  const std::vector<SequenceId> ids = {cache.add().value()};
  const std::vector<SequenceId> wide_ids = {cache.add().value()};
  const auto got = layer
                       .forward(half, half, half, options,
                                {.cache = &cache, .sequences = ids})
                       .value();
  const auto want = layer
                        .forward(wide, wide, wide, options,
                                 {.cache = &cache, .sequences = wide_ids})
                        .value();
  EXPECT_TRUE(same_bits(widened_to_float(got.output),
                        rounded_to<BFloat16>(want.output)));
}

TEST(LayerCacheTest, WhatACacheDoesNotDoIsAnErrorAndNothingIsAppended) {
  const MultiHeadAttention layer = layer_with_positions();
  const auto x = uniform<3>({1, 4, kE}, 4120);
  const auto longer = uniform<3>({1, 5, kE}, 4121);
  KvCache cache = cache_for_layer();
  const std::vector<SequenceId> ids = {cache.add().value()};
  const LayerOptions cached = {.cache = &cache, .sequences = ids};
  EXPECT_THAT(
      layer.forward_for_backward(x.view(), x.view(), x.view(), {}, cached),
      IsError(ErrorCode::invalid_argument, "cache"));
  EXPECT_THAT(layer.forward(x.view(), longer.view(), longer.view(), {}, cached),
              IsError(ErrorCode::shape_mismatch, "key"));
  EXPECT_THAT(
      layer.forward(x.view(), x.view(), x.view(), {}, {.cache = &cache}),
      IsError(ErrorCode::shape_mismatch, "sequences"));
  EXPECT_THAT(
      layer.forward(x.view(), x.view(), x.view(), {.query_start = 1}, cached),
      IsError(ErrorCode::invalid_argument, "query_start"));
  EXPECT_EQ(cache.length(ids[0]).value(), 0u);
}

}  // namespace
}  // namespace headwise::testing_support
