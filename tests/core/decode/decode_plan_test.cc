// The promise of a cache: a row has the bits of one call of attention() on the
// numbers that the cache holds, however the tokens came there.
#include "headwise/decode/decode_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "headwise/base/layout.h"
#include "headwise/kernels/targets.h"
#include "support/allocations.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

class DecodePlanBitsTest : public testing::TestWithParam<Arithmetic> {
 protected:
  static AttentionOptions in(AttentionOptions options) {
    options.arithmetic = GetParam();
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Arithmetics, DecodePlanBitsTest,
                         testing::Values(Arithmetic::exact, Arithmetic::bf16),
                         [](const auto& tested) {
                           return std::string(name_of(tested.param));
                         });

TEST_P(DecodePlanBitsTest, ChunksOfAnySizeHaveTheBitsOfOneCall) {
  const Text text(290);
  const AttentionOptions options = in({.mask = causal()});
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    Decoder decoder(cache, options);
    const auto want = one_call(text, decoder.cache.options(), options);
    for (const std::size_t chunk : {1u, 7u, 64u, 1000u}) {
      const SequenceId id = decoder.cache.add().value();
      EXPECT_TRUE(same_bits(decoder.take_all(id, text, chunk), want)) << chunk;
      ASSERT_TRUE(decoder.cache.erase(id));
    }
    EXPECT_EQ(decoder.cache.free_pages(), decoder.cache.pages());
  }
}

TEST_P(DecodePlanBitsTest, ThreadsChangeNoBit) {
  const Text text(1500);
  const AttentionOptions options = in({.mask = causal()});
  for (const DType dtype : {DType::float32, DType::int8}) {
    const KvCacheOptions cache = cache_of(16, dtype);
    for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
      Decoder decoder(cache, options, threads);
      const auto want = one_call(text, decoder.cache.options(), options);
      const SequenceId id = decoder.cache.add().value();
      auto output = filled<float, 4>(want.extents(), 42);
      for (const auto& [first, count] :
           {std::pair(0u, 1100u), std::pair(1100u, 390u), std::pair(1490u, 1u),
            std::pair(1491u, 9u)}) {
        decoder.take(id, text, first, count, output);
      }
      EXPECT_TRUE(same_bits(output, want)) << threads << " threads";
    }
  }
}

// Few rows of one sequence, whose values are in the keys of one head: threads
// share its blocks of keys.
TEST_P(DecodePlanBitsTest, ThreadsChangeNoBitOfLatentAttention) {
  Text text(1500);
  text.key = uniform<4>({1, 1500, 1, kD}, 320, -2, 2);
  const auto starts = tensor_of<std::int64_t, 1>({1}, {5});
  const std::vector<AttentionOptions> all = {
      {.mask = causal(), .softcap = 4.0},
      {.mask = window(1200, 0, 40)},
      {.mask = causal() & key_starts(starts.view())}};
  for (const AttentionOptions& of : all) {
    const AttentionOptions options = in(of);
    for (const KvCacheOptions& cache :
         {cache_of(16, DType::float32, true), cache_of(0, DType::int8, true),
          cache_of(128, DType::bfloat16, true)}) {
      SCOPED_TRACE(name_of(cache));
      for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
        KvCacheOptions one = cache;
        one.max_sequences = 1;
        one.num_kv_heads = 1;
        Decoder decoder(one, options, threads);
        const auto want = one_call(text, decoder.cache.options(), options);
        const SequenceId id = decoder.cache.add().value();
        auto output = filled<float, 4>(want.extents(), 42);
        for (const auto& [first, count] :
             {std::pair(0u, 1100u), std::pair(1100u, 300u),
              std::pair(1400u, 12u), std::pair(1412u, 9u),
              std::pair(1421u, 63u), std::pair(1484u, 12u),
              std::pair(1496u, 4u)}) {
          decoder.take(id, text, first, count, output);
        }
        EXPECT_TRUE(same_bits(output, want)) << threads << " threads";
      }
    }
  }
}

// Sequences of different lengths in one call, some without a new token.
TEST_P(DecodePlanBitsTest, NeighboursInTheBatchChangeNoBit) {
  const AttentionOptions options = in({.mask = causal()});
  for (const std::size_t page_size : {0u, 16u}) {
    Decoder decoder(cache_of(page_size), options, 2);
    const KvCacheOptions& cache = decoder.cache.options();
    std::vector<Text> texts;
    std::vector<SequenceId> ids;
    for (const std::size_t length : {200u, 31u, 131u}) {
      texts.emplace_back(length, 100 + static_cast<std::uint32_t>(length));
      ids.push_back(decoder.cache.add().value());
    }
    const std::vector<std::vector<std::size_t>> rounds = {
        {150, 0, 3}, {1, 1, 1}, {1, 0, 120}, {16, 30, 0}, {32, 0, 7}};
    std::vector<std::size_t> at(3, 0);
    std::vector<Tensor<float, 4>> outputs;
    for (const Text& text : texts) {
      outputs.push_back(filled<float, 4>({1, text.length(), kHeads, kDv}, 42));
    }
    for (const auto& counts : rounds) {
      std::vector<std::int64_t> offsets = {0};
      for (const std::size_t count : counts) {
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(count));
      }
      const auto total = static_cast<std::size_t>(offsets.back());
      const auto gather = [&](std::size_t heads, std::size_t size,
                              const auto& of) {
        auto all = filled<float, 4>({1, total, heads, size}, 0);
        for (std::size_t n = 0; n < 3; ++n) {
          const Tensor<float, 4>& from = of(texts[n]);
          std::copy_n(
              from.data() + at[n] * heads * size, counts[n] * heads * size,
              all.data() + static_cast<std::size_t>(offsets[n]) * heads * size);
        }
        return all;
      };
      const auto q = gather(
          kHeads, kD, [](const Text& t) -> auto& { return t.query; });
      const auto k = gather(
          kKeyHeads, kD, [](const Text& t) -> auto& { return t.key; });
      const auto v = gather(
          kKeyHeads, kDv, [](const Text& t) -> auto& { return t.value; });
      auto output = filled<float, 4>({1, total, kHeads, kDv}, 42);
      const Status s = decoder.plan.run(ids, q, k, v, {.output = output},
                                        decoder.workspace, offsets);
      ASSERT_TRUE(s) << s.error().message();
      for (std::size_t n = 0; n < 3; ++n) {
        std::copy_n(
            output.data() + static_cast<std::size_t>(offsets[n]) * kHeads * kDv,
            counts[n] * kHeads * kDv, outputs[n].data() + at[n] * kHeads * kDv);
        at[n] += counts[n];
      }
    }
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_TRUE(same_bits(outputs[n], one_call(texts[n], cache, options)))
          << "sequence " << n << ", pages of " << page_size;
    }
  }
}

// A prompt, chunks and single tokens in one call, in whatever way each is
// computed.
TEST_P(DecodePlanBitsTest, APromptAmongSingleTokensChangesNoBit) {
  const AttentionOptions options = in({.mask = causal()});
  const std::vector<KvCacheOptions> caches = {
      cache_of(16), cache_of(0, DType::int8), cache_of(64, DType::bfloat16),
      cache_of(16, DType::float32, true)};
  for (KvCacheOptions cache : caches) {
    SCOPED_TRACE(name_of(cache));
    cache.max_tokens = 4 * 2048;
    for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
      Decoder decoder(cache, options, threads);
      const Text past(1100, 1000);
      const Text fresh(120, 1010);
      std::vector<SequenceId> ids;
      std::vector<PlainSequence> plain(4);
      for (const std::size_t length : {1100u, 40u, 300u, 1u}) {
        const SequenceId id[] = {decoder.cache.add().value()};
        ASSERT_TRUE(decoder.cache.append(
            id, rows(past.key.view(), 0, length),
            decoder.values(rows(past.value.view(), 0, length))));
        add_tokens(plain[ids.size()], decoder.cache.options(), past.key,
                   past.value, 0, 0, length);
        ids.push_back(id[0]);
      }
      const std::vector<std::int64_t> offsets = {0, 1, 86, 103, 119};
      auto output = filled<float, 4>({1, 119, kHeads, kDv}, 42);
      const Status s = decoder.plan.run(
          ids, rows(fresh.query.view(), 0, 119), rows(fresh.key.view(), 0, 119),
          decoder.values(rows(fresh.value.view(), 0, 119)), {.output = output},
          decoder.workspace, offsets);
      ASSERT_TRUE(s) << s.error().message();
      for (std::size_t n = 0; n < ids.size(); ++n) {
        const auto first = static_cast<std::size_t>(offsets[n]);
        const auto count = static_cast<std::size_t>(offsets[n + 1]) - first;
        add_tokens(plain[n], decoder.cache.options(), fresh.key, fresh.value, 0,
                   first, count);
        const auto want =
            attend_plainly(plain[n], decoder.cache.options(),
                           rows(fresh.query.view(), first, count), options);
        EXPECT_TRUE(
            same_bits({&output(0, first, 0, 0), want.size()}, want.elements()))
            << "sequence " << n << ", " << threads << " threads";
      }
    }
  }
}

// (B, L, H, D), with strides as of (B, H, L, D).
TEST(DecodePlanTest, ABatchMayHaveAnyStrides) {
  const AttentionOptions options = {.mask = causal()};
  Decoder decoder(cache_of(16), options);
  const std::vector<SequenceId> ids = {decoder.cache.add().value(),
                                       decoder.cache.add().value()};
  const auto q = uniform<4>({2, kHeads, 40, kD}, 300);
  const auto k = uniform<4>({2, kKeyHeads, 40, kD}, 301);
  const auto v = uniform<4>({2, kKeyHeads, 40, kDv}, 302);
  auto output = filled<float, 4>({2, kHeads, 40, kDv}, 42);
  const auto part = [](auto view, std::size_t first, std::size_t count) {
    const auto all = as_blhd(view);
    return decltype(all){&all(0, first, 0, 0),
                         {2, count, all.extent(2), all.extent(3)},
                         all.strides()};
  };
  for (const auto& [first, count] : {std::pair(0u, 37u), std::pair(37u, 3u)}) {
    const Status s = decoder.plan.run(
        ids, part(q.view(), first, count), part(k.view(), first, count),
        part(v.view(), first, count),
        {.output = part(output.view(), first, count)}, decoder.workspace);
    ASSERT_TRUE(s) << s.error().message();
  }
  auto want = filled<float, 4>({2, kHeads, 40, kDv}, 42);
  ASSERT_TRUE(attention(as_blhd(q.view()), as_blhd(k.view()), as_blhd(v.view()),
                        as_blhd(want.view()), options));
  EXPECT_TRUE(same_bits(output, want));
}

TEST(DecodePlanTest, ForkAndTruncateChangeNoBit) {
  const AttentionOptions options = {.mask = causal()};
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    Decoder decoder(cache, options);
    const KvCacheOptions& filled_in = decoder.cache.options();
    const Text text(150, 400);
    Text other(150, 410);
    // The other text begins with the same 75 tokens.
    for (const auto& [to, from] : {std::pair(&other.query, &text.query),
                                   std::pair(&other.key, &text.key),
                                   std::pair(&other.value, &text.value)}) {
      std::copy_n(from->data(), 75 * to->size() / 150, to->data());
    }
    const SequenceId a = decoder.cache.add().value();
    auto output = filled<float, 4>({1, 150, kHeads, kDv}, 42);
    auto other_output = filled<float, 4>({1, 150, kHeads, kDv}, 42);
    decoder.take(a, text, 0, 75, output);
    decoder.take(a, text, 75, 25, output);
    const SequenceId b = decoder.cache.fork(a).value();
    ASSERT_TRUE(decoder.cache.truncate(b, 75));
    std::copy_n(output.data(), 75 * kHeads * kDv, other_output.data());
    decoder.take(b, other, 75, 3, other_output);  // writes to a shared page
    decoder.take(a, text, 100, 50, output);
    decoder.take(b, other, 78, 72, other_output);
    EXPECT_TRUE(same_bits(output, one_call(text, filled_in, options)));
    EXPECT_TRUE(same_bits(other_output, one_call(other, filled_in, options)));
    ASSERT_TRUE(decoder.cache.truncate(a, 10));
    decoder.take(a, text, 10, 140, output);
    EXPECT_TRUE(same_bits(output, one_call(text, filled_in, options)));
  }
}

TEST_P(DecodePlanBitsTest, ARollingWindowIsItsMaskAndNeedsFewPages) {
  for (const std::int64_t keep_first : {0, 5, 40}) {
    for (const std::size_t page_size : {0u, 16u, 64u}) {
      KvCacheOptions cache = cache_of(page_size);
      cache.window = RollingWindow{.left = 50, .keep_first = keep_first};
      cache.max_sequences = 1;
      cache.max_tokens = page_size == 0 ? 512 : 256;
      const AttentionOptions options = in({.mask = causal()});
      Decoder decoder(cache, options);
      const Text text(700, 500);
      const AttentionOptions masked = in({.mask = window(50, 0, keep_first)});
      cache.window.reset();
      cache.v_head_dim = kDv;
      const auto want = one_call(text, cache, masked);
      for (const std::size_t chunk : {1u, 33u}) {
        const SequenceId id = decoder.cache.add().value();
        EXPECT_TRUE(same_bits(decoder.take_all(id, text, chunk), want))
            << "keep_first " << keep_first << ", pages of " << page_size
            << ", chunks of " << chunk;
        ASSERT_TRUE(decoder.cache.erase(id));
      }
    }
  }
}

struct NamedOptions {
  std::string name;
  AttentionOptions options;
  OperationOptions operation{};
};

TEST_P(DecodePlanBitsTest, EveryOptionHasTheBitsOfOneCall) {
  const Text text(180, 600);
  const auto slopes = alibi_slopes(kHeads).value();
  const auto table = uniform<2>({12, kHeads}, 918, -2, 2);
  const auto sinks = uniform<1>({kHeads}, 611);
  const auto score_weight = uniform<2>({kHeads, kD}, 610);
  const auto starts = tensor_of<std::int64_t, 1>({1}, {1});
  const std::vector<std::size_t> sizes = {1, 3};
  const auto sequence_ids = tensor_of<std::int64_t, 1>({1}, {9});
  const std::vector<NamedOptions> all = {
      {"scale and softcap", {.mask = causal(), .scale = 0.3, .softcap = 2.0}},
      {"alibi", {.mask = causal(), .alibi = slopes.view()}},
      {"t5_bias",
       {.mask = causal(),
        .t5_bias = {.table = table, .max_distance = 40},
        .alibi = slopes.view()}},
      {"sinks", {.mask = causal(), .sinks = sinks.view()}},
      {"window", {.mask = window(40, 0)}},
      {"window and first keys", {.mask = window(40, 0, 3)}},
      {"key_starts", {.mask = causal() & key_starts(starts.view())}},
      {"dropout",
       {.mask = causal(),
        .dropout = {.p = 0.3,
                    .training = true,
                    .seed = Seed{3},
                    .sequence_ids = sequence_ids.view()}}},
      {"empty rows",
       {.mask = window(3, 0) & key_starts(starts.view()),
        .empty_rows = EmptyRow::nan}},
      {"additive", {.mask = causal()}, {.score_weight = score_weight.view()}},
      {"uneven groups",
       {.mask = causal()},
       {.kv_groups = HeadGroups::create(sizes).value()}},
  };
  for (const auto& [name, of, operation] : all) {
    const AttentionOptions options = in(of);
    for (const std::size_t page_size : {0u, 16u}) {
      Decoder decoder(cache_of(page_size), options, 1, operation);
      const auto want =
          one_call(text, decoder.cache.options(), options, operation);
      for (const std::size_t chunk : {1u, 5u, 100u}) {
        const SequenceId id = decoder.cache.add().value();
        EXPECT_TRUE(same_bits(decoder.take_all(id, text, chunk), want))
            << name << ", chunks of " << chunk;
        ASSERT_TRUE(decoder.cache.erase(id));
      }
    }
  }
}

TEST(DecodePlanTest, WeightsAndSoftmaxRowsAreThoseOfOneCall) {
  const Text text(1100, 700);
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::per_head};
  Decoder decoder(cache_of(64), options);
  const auto weights_of = [](std::size_t Lq, std::size_t Lkv) {
    return filled<float, 4>({1, kHeads, Lq, Lkv}, 42);
  };
  auto output = filled<float, 4>({1, 1100, kHeads, kDv}, 42);
  auto all = weights_of(1100, 1100);
  auto lse = filled<float, 3>({1, kHeads, 1100}, 42);
  auto softmax_rows = filled<float, 4>({1, kHeads, 1100, 2}, 42);
  ASSERT_TRUE(attention(text.query, text.key, text.value,
                        {.output = output.view(),
                         .attn_weights = all.view(),
                         .lse = lse.view(),
                         .softmax_rows = softmax_rows.view()},
                        options));
  const SequenceId ids[] = {decoder.cache.add().value()};
  for (const auto& [first, count] :
       {std::pair(0u, 1000u), std::pair(1000u, 1u), std::pair(1001u, 99u)}) {
    auto part = weights_of(count, first + count);
    auto part_output = filled<float, 4>({1, count, kHeads, kDv}, 42);
    auto part_lse = filled<float, 3>({1, kHeads, count}, 42);
    auto part_rows = filled<float, 4>({1, kHeads, count, 2}, 42);
    const Status s =
        decoder.plan.run(ids, rows(text.query.view(), first, count),
                         rows(text.key.view(), first, count),
                         rows(text.value.view(), first, count),
                         {.output = part_output.view(),
                          .attn_weights = part.view(),
                          .lse = part_lse.view(),
                          .softmax_rows = part_rows.view()},
                         decoder.workspace);
    ASSERT_TRUE(s) << s.error().message();
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(same_bits({&part(0, h, i, 0), first + count},
                              {&all(0, h, first + i, 0), first + count}));
        EXPECT_EQ(part_lse(0, h, i), lse(0, h, first + i));
        EXPECT_EQ(part_rows(0, h, i, 0), softmax_rows(0, h, first + i, 0));
        EXPECT_EQ(part_rows(0, h, i, 1), softmax_rows(0, h, first + i, 1));
      }
    }
  }
}

// A value that is NaN or infinite, or may be once it is rounded, changes the
// rows that may read it and no other, also once its page is used again.
TEST_P(DecodePlanBitsTest, AMaskedValueIsNotRead) {
  const AttentionOptions options = in({.mask = window(20, 0)});
  for (const KvCacheOptions& cache :
       {cache_of(16), cache_of(16, DType::bfloat16),
        cache_of(16, DType::float16), cache_of(16, DType::int8),
        cache_of(16, DType::float32, true), cache_of(0, DType::int8, true)}) {
    Decoder decoder(cache, options);
    Text text(200, 800);
    text.value(0, 90, 1, 3) = std::numeric_limits<float>::infinity();
    text.value(0, 60, 0, 2) = 6e4F;
    text.key(0, 120, 0, 1) = std::numeric_limits<float>::quiet_NaN();
    const auto want = one_call(text, decoder.cache.options(), options);
    const SequenceId id = decoder.cache.add().value();
    for (const std::size_t chunk : {1u, 100u}) {
      EXPECT_TRUE(same_bits(decoder.take_all(id, text, chunk), want));
      ASSERT_TRUE(decoder.cache.truncate(id, 0));
    }
  }
}

TEST(DecodePlanTest, AStepAllocatesNothing) {
  const AttentionOptions options = {.mask = causal(), .softcap = 3.0};
  const std::vector<std::size_t> sizes = {1, 3};
  Decoder decoder(cache_of(16), options, 1,
                  {.kv_groups = HeadGroups::create(sizes).value()});
  const Text text(64, 900);
  const SequenceId ids[] = {decoder.cache.add().value()};
  auto output = filled<float, 4>({1, 64, kHeads, kDv}, 42);
  const std::size_t before = allocations;
  bool good = true;
  for (const auto& [first, count] :
       {std::pair(0u, 40u), std::pair(40u, 1u), std::pair(41u, 20u)}) {
    const Status s = decoder.plan.run(
        ids, rows(text.query.view(), first, count),
        rows(text.key.view(), first, count),
        rows(text.value.view(), first, count),
        {.output = rows(output.view(), first, count)}, decoder.workspace);
    good = good && static_cast<bool>(s);
  }
  const auto fork = decoder.cache.fork(ids[0]);
  good = good && fork && decoder.cache.truncate(*fork, 3) &&
         decoder.cache.erase(ids[0]);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(good);
}

TEST(DecodePlanTest, TheWorkspaceDoesNotGrowWithTheLengths) {
  const auto bytes = [](std::size_t max_tokens) {
    KvCacheOptions options = cache_of(16);
    options.max_tokens = max_tokens;
    return Decoder(options, {.mask = causal()}).plan.workspace_bytes();
  };
  EXPECT_EQ(bytes(1 << 20), bytes(16));
}

}  // namespace
}  // namespace headwise::testing_support
