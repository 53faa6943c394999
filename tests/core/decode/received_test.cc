// What tokens receive, as a cache sums it, and what it keeps of them.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attention/contract.h"
#include "decode/decoder.h"
#include "headwise/kernels/targets.h"
#include "support/allocations.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

KvCacheOptions collecting(KvCacheOptions options) {
  options.received_heads = kHeads;
  return options;
}

// The sums (Hq, L) of a sequence.
Tensor<float, 2> received(const KvCache& cache, SequenceId id) {
  auto sums = filled<float, 2>({kHeads, cache.length(id).value()}, 42);
  const Status s = cache.read_received(id, 0, sums.view());
  EXPECT_TRUE(s) << s.error().message();
  return sums;
}

Tensor<float, 2> received(const PlainSequence& sequence) {
  const std::size_t L = sequence.received.size() / kHeads;
  auto sums = filled<float, 2>({kHeads, L}, 42);
  for (std::size_t h = 0; h < kHeads; ++h) {
    for (std::size_t j = 0; j < L; ++j) {
      sums(h, j) = sequence.received[j * kHeads + h];
    }
  }
  return sums;
}

// What the tokens of a text receive from its queries in one call.
Tensor<float, 2> in_one_call(const Text& text, const KvCacheOptions& cache,
                             const AttentionOptions& options,
                             const OperationOptions& operation = {}) {
  PlainSequence sequence = plain(text, cache);
  receive_plainly(sequence, cache, text.query, options, operation);
  return received(sequence);
}

void expect_the_sums_of_one_call(const KvCacheOptions& cache,
                                 const AttentionOptions& options) {
  const Text text(290);
  Decoder decoder(collecting(cache), options);
  const auto want = in_one_call(text, decoder.cache.options(), options);
  for (const std::size_t chunk : {1u, 7u, 64u, 1000u}) {
    const SequenceId id = decoder.cache.add().value();
    decoder.take_all(id, text, chunk);
    EXPECT_TRUE(same_bits(received(decoder.cache, id), want)) << chunk;
    ASSERT_TRUE(decoder.cache.erase(id));
  }
}

TEST(ReceivedTest, ChunksOfAnySizeGiveTheSumsOfOneCall) {
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_sums_of_one_call(cache, {.mask = causal()});
  }
}

TEST(ReceivedTest, InBf16ChunksOfAnySizeGiveTheSumsOfOneCall) {
  AttentionOptions options = {.mask = causal()};
  options.arithmetic = Arithmetic::bf16;
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_sums_of_one_call(cache, options);
  }
}

// The arithmetic of the page, in scalar code.
TEST(ReceivedTest, SumsAreThoseOfTheContract) {
  if (!promises_same_bits(current_target().value())) {
    GTEST_SKIP() << "no fused multiply-add";
  }
  const Text text(150, 50);
  const auto start = tensor_of<std::int64_t, 1>({1}, {1});
  AttentionOptions options = {.mask = causal() & key_starts(start.view()),
                              .softcap = 9.0,
                              .attn_weights = AttnWeights::per_head};
  const auto out =
      Contract({clone(text.query), clone(text.key), clone(text.value)}, options,
               {})
          .run();
  auto want = filled<float, 2>({kHeads, 150}, 0);
  for (std::size_t h = 0; h < kHeads; ++h) {
    for (std::size_t i = 0; i < 150; ++i) {
      for (std::size_t j = 0; j < 150; ++j) {
        want(h, j) += out.attn_weights(0, h, i, j);
      }
    }
  }
  options.attn_weights = AttnWeights::none;
  Decoder decoder(collecting(cache_of(16)), options);
  for (const std::size_t chunk : {1u, 150u}) {
    const SequenceId id = decoder.cache.add().value();
    decoder.take_all(id, text, chunk);
    EXPECT_TRUE(same_bits(received(decoder.cache, id), want)) << chunk;
    ASSERT_TRUE(decoder.cache.erase(id));
  }
}

TEST(ReceivedTest, ThreadsChangeNoBit) {
  const Text text(700, 60);
  const AttentionOptions options = {.mask = causal()};
  for (const DType dtype : {DType::float32, DType::int8}) {
    const KvCacheOptions cache = collecting(cache_of(16, dtype));
    Tensor<float, 2> want;
    for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
      Decoder decoder(cache, options, threads);
      if (threads == 1) {
        want = in_one_call(text, decoder.cache.options(), options);
      }
      const SequenceId id = decoder.cache.add().value();
      auto output = filled<float, 4>({1, 700, kHeads, kDv}, 42);
      for (const auto& [first, count] :
           {std::pair(0u, 600u), std::pair(600u, 1u), std::pair(601u, 9u),
            std::pair(610u, 90u)}) {
        decoder.take(id, text, first, count, output);
      }
      EXPECT_TRUE(same_bits(received(decoder.cache, id), want)) << threads;
    }
  }
}

struct NamedOptions {
  std::string name;
  AttentionOptions options;
  OperationOptions operation{};
};

TEST(ReceivedTest, EveryOptionGivesTheSumsOfItsWeights) {
  const Text text(180, 600);
  const auto slopes = alibi_slopes(kHeads).value();
  const auto table = uniform<2>({12, kHeads}, 918, -2, 2);
  const auto sinks = uniform<1>({kHeads}, 611);
  const auto starts = tensor_of<std::int64_t, 1>({1}, {1});
  const std::vector<std::size_t> sizes = {1, 3};
  const std::vector<NamedOptions> all = {
      {"scale and softcap", {.mask = causal(), .scale = 0.3, .softcap = 2.0}},
      {"no mask", {}},
      {"biases",
       {.mask = causal(),
        .t5_bias = {.table = table, .max_distance = 40},
        .alibi = slopes.view()}},
      {"sinks", {.mask = causal(), .sinks = sinks.view()}},
      {"window and first keys", {.mask = window(40, 0, 3)}},
      {"dropout",
       {.mask = causal(),
        .dropout = {.p = 0.3, .training = true, .seed = Seed{3}}}},
      {"rows without a key",
       {.mask = window(3, 0) & key_starts(starts.view()),
        .empty_rows = EmptyRow::nan}},
      {"uneven groups",
       {.mask = causal()},
       {.kv_groups = HeadGroups::create(sizes).value()}},
  };
  for (const auto& [name, options, operation] : all) {
    for (const std::size_t page_size : {0u, 16u}) {
      Decoder decoder(collecting(cache_of(page_size)), options, 1, operation);
      const KvCacheOptions& cache = decoder.cache.options();
      for (const std::size_t chunk : {1u, 5u, 100u}) {
        PlainSequence sequence;
        const SequenceId id = decoder.cache.add().value();
        auto output = filled<float, 4>({1, 180, kHeads, kDv}, 42);
        for (std::size_t n = 0; n < 180; n += chunk) {
          const std::size_t count = std::min<std::size_t>(chunk, 180 - n);
          decoder.take(id, text, n, count, output);
          add_tokens(sequence, cache, text.key, text.value, 0, n, count);
          receive_plainly(sequence, cache, rows(text.query.view(), n, count),
                          options, operation);
        }
        EXPECT_TRUE(same_bits(received(decoder.cache, id), received(sequence)))
            << name << ", chunks of " << chunk;
        ASSERT_TRUE(decoder.cache.erase(id));
      }
    }
  }
}

// With a bias and returned weights, and M and sum where the caller wants them.
TEST(ReceivedTest, OutputsOfTheCallStayAsTheyAre) {
  const Text text(100, 70);
  const auto bias = uniform<4>({1, kHeads, 100, 100}, 71, -2, 2);
  const AttentionOptions options = {
      .mask = causal(),
      .bias = dense(bias, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}),
      .attn_weights = AttnWeights::per_head};
  std::vector<Tensor<float, 4>> weights;
  std::vector<Tensor<float, 4>> softmax_rows;
  Tensor<float, 2> sums;
  for (const bool collect : {false, true}) {
    const KvCacheOptions cache =
        collect ? collecting(cache_of(16)) : cache_of(16);
    Decoder decoder(cache, options);
    const SequenceId ids[] = {decoder.cache.add().value()};
    auto output = filled<float, 4>({1, 100, kHeads, kDv}, 42);
    weights.push_back(filled<float, 4>({1, kHeads, 100, 100}, 42));
    softmax_rows.push_back(filled<float, 4>({1, kHeads, 100, 2}, 42));
    ASSERT_TRUE(decoder.plan.run(ids, text.query, text.key, text.value,
                                 {.output = output.view(),
                                  .attn_weights = weights.back().view(),
                                  .softmax_rows = softmax_rows.back().view()},
                                 decoder.workspace));
    if (collect) {
      EXPECT_TRUE(
          same_bits(received(decoder.cache, ids[0]),
                    in_one_call(text, decoder.cache.options(), options)));
    }
  }
  EXPECT_TRUE(same_bits(weights[0], weights[1]));
  EXPECT_TRUE(same_bits(softmax_rows[0], softmax_rows[1]));
}

// Sequences of different lengths, with different numbers of new tokens.
TEST(ReceivedTest, NeighboursInTheBatchChangeNoBit) {
  const AttentionOptions options = {.mask = causal()};
  Decoder decoder(collecting(cache_of(16)), options, 2);
  const KvCacheOptions& cache = decoder.cache.options();
  std::vector<Text> texts;
  std::vector<SequenceId> ids;
  for (const std::size_t length : {150u, 30u, 0u, 133u}) {
    texts.emplace_back(length, 100 + static_cast<std::uint32_t>(length));
    ids.push_back(decoder.cache.add().value());
  }
  auto query = filled<float, 4>({1, 313, kHeads, kD}, 0);
  auto key = filled<float, 4>({1, 313, kKeyHeads, kD}, 0);
  auto value = filled<float, 4>({1, 313, kKeyHeads, kDv}, 0);
  std::vector<std::int64_t> offsets = {0};
  for (const Text& text : texts) {
    const auto first = static_cast<std::size_t>(offsets.back());
    for (const auto& [to, from] :
         {std::pair(&query, &text.query), std::pair(&key, &text.key),
          std::pair(&value, &text.value)}) {
      std::copy_n(from->data(), from->size(),
                  to->data() + first * (to->size() / 313));
    }
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(text.length()));
  }
  auto output = filled<float, 4>({1, 313, kHeads, kDv}, 42);
  const Status s = decoder.plan.run(ids, query, key, value, {.output = output},
                                    decoder.workspace, offsets);
  ASSERT_TRUE(s) << s.error().message();
  for (std::size_t n = 0; n < 4; ++n) {
    if (texts[n].length() != 0) {
      EXPECT_TRUE(same_bits(received(decoder.cache, ids[n]),
                            in_one_call(texts[n], cache, options)))
          << "sequence " << n;
    }
  }
}

// A NaN in a key reaches what its rows may see and nothing else.
TEST(ReceivedTest, AMaskedKeyReceivesNothing) {
  const AttentionOptions options = {.mask = window(20, 0)};
  for (const KvCacheOptions& cache : {cache_of(16), cache_of(32, DType::int8),
                                      cache_of(16, DType::float32, true)}) {
    Decoder decoder(collecting(cache), options);
    Text text(200, 800);
    text.key(0, 120, 0, 1) = std::numeric_limits<float>::quiet_NaN();
    const auto want = in_one_call(text, decoder.cache.options(), options);
    EXPECT_FALSE(std::isnan(want(0, 99)));
    EXPECT_TRUE(std::isnan(want(0, 100)));
    EXPECT_TRUE(std::isnan(want(0, 140)));
    EXPECT_FALSE(std::isnan(want(0, 141)));
    for (const std::size_t chunk : {1u, 100u}) {
      const SequenceId id = decoder.cache.add().value();
      decoder.take_all(id, text, chunk);
      EXPECT_TRUE(same_bits(received(decoder.cache, id), want));
      ASSERT_TRUE(decoder.cache.erase(id));
    }
  }
}

// A score of -inf that is allowed: the first row has a key and the sum 0.
TEST(ReceivedTest, ARowWhoseSumIsZeroGivesNothing) {
  const AttentionOptions options = {.mask = causal(),
                                    .empty_rows = EmptyRow::nan};
  Decoder decoder(collecting(cache_of(16)), options);
  Text text(40, 820);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      text.query(0, i, h, 0) = 1;
    }
  }
  text.key(0, 0, 1, 0) = -std::numeric_limits<float>::infinity();
  const auto want = in_one_call(text, decoder.cache.options(), options);
  EXPECT_EQ(want(kHeads - 1, 0), 0);
  for (const std::size_t chunk : {1u, 40u}) {
    const SequenceId id = decoder.cache.add().value();
    decoder.take_all(id, text, chunk);
    EXPECT_TRUE(same_bits(received(decoder.cache, id), want)) << chunk;
    ASSERT_TRUE(decoder.cache.erase(id));
  }
}

TEST(ReceivedTest, AForkHasSumsOfItsOwn) {
  const AttentionOptions options = {.mask = causal()};
  for (const std::size_t page_size : {0u, 16u, 64u}) {
    Decoder decoder(collecting(cache_of(page_size)), options);
    const KvCacheOptions& cache = decoder.cache.options();
    const Text text(90, 400);
    const Text other(130, 410);
    auto output = filled<float, 4>({1, 130, kHeads, kDv}, 42);
    const SequenceId a = decoder.cache.add().value();
    decoder.take(a, text, 0, 70, output);
    const SequenceId b = decoder.cache.fork(a).value();
    decoder.take(b, other, 70, 60, output);
    decoder.take(a, text, 70, 20, output);
    EXPECT_TRUE(same_bits(received(decoder.cache, a),
                          in_one_call(text, cache, options)));
    PlainSequence sequence;
    add_tokens(sequence, cache, text.key, text.value, 0, 0, 70);
    receive_plainly(sequence, cache, rows(text.query.view(), 0, 70), options);
    add_tokens(sequence, cache, other.key, other.value, 0, 70, 60);
    receive_plainly(sequence, cache, rows(other.query.view(), 70, 60), options);
    EXPECT_TRUE(same_bits(received(decoder.cache, b), received(sequence)));
  }
}

TEST(ReceivedTest, ARollingWindowLosesTheSumsOfItsPages) {
  KvCacheOptions options = collecting(cache_of(16));
  options.window = RollingWindow{.left = 50, .keep_first = 5};
  options.max_tokens = 256;
  Decoder decoder(options, {.mask = causal()});
  const Text text(300, 500);
  const auto want =
      in_one_call(text, decoder.cache.options(), {.mask = causal()});
  const SequenceId id = decoder.cache.add().value();
  decoder.take_all(id, text, 33);
  auto sums = filled<float, 2>({kHeads, 16}, 42);
  EXPECT_FALSE(decoder.cache.read_received(id, 16, sums.view()));
  for (const std::size_t first : {0u, 240u, 284u}) {
    ASSERT_TRUE(decoder.cache.read_received(id, first, sums.view()));
    for (std::size_t h = 0; h < kHeads; ++h) {
      EXPECT_TRUE(same_bits({&sums(h, 0), 16}, {&want(h, first), 16}));
    }
  }
}

// ---- Keeping tokens ----

std::vector<std::int64_t> every_third(std::size_t from, std::size_t end) {
  std::vector<std::int64_t> indices;
  for (std::size_t n = 0; n < end; ++n) {
    if (n < from || n % 3 == 1) {
      indices.push_back(static_cast<std::int64_t>(n));
    }
  }
  return indices;
}

// The keys and values that a cache holds, and its sums where it has some.
void expect_holds(const KvCache& cache, SequenceId id,
                  const PlainSequence& want) {
  const KvCacheOptions& o = cache.options();
  const std::size_t L = cache.length(id).value();
  auto key = filled<float, 3>({L, o.num_kv_heads, o.head_dim}, 42);
  auto value = filled<float, 3>({L, o.num_kv_heads, o.v_head_dim}, 42);
  ASSERT_TRUE(cache.read(id, 0, key.view(), value.view()));
  EXPECT_TRUE(same_bits(key.elements(), want.keys));
  EXPECT_TRUE(same_bits(value.elements(), want.values));
  if (o.received_heads != 0) {
    EXPECT_TRUE(same_bits(received(cache, id), received(want)));
  }
}

TEST(KeepTest, KeptTokensAreAsTheyWereAndWhatFollowsAttendsToThem) {
  const AttentionOptions options = {.mask = causal()};
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    Decoder decoder(collecting(cache), options);
    const KvCacheOptions& filled_in = decoder.cache.options();
    const Text text(300, 420);
    auto output = filled<float, 4>({1, 300, kHeads, kDv}, 42);
    const SequenceId id = decoder.cache.add().value();
    decoder.take(id, text, 0, 250, output);
    PlainSequence want;
    add_tokens(want, filled_in, text.key, text.value, 0, 0, 250);
    receive_plainly(want, filled_in, rows(text.query.view(), 0, 250), options);
    const auto indices = every_third(40, 250);
    ASSERT_TRUE(decoder.cache.keep(id, indices));
    keep_plainly(want, filled_in, indices);
    expect_holds(decoder.cache, id, want);
    for (const auto& [first, count] :
         {std::pair(250u, 1u), std::pair(251u, 40u)}) {
      decoder.take(id, text, first, count, output);
      add_tokens(want, filled_in, text.key, text.value, 0, first, count);
      const auto query = rows(text.query.view(), first, count);
      EXPECT_TRUE(same_bits(
          {&output(0, first, 0, 0), count * kHeads * kDv},
          attend_plainly(want, filled_in, query, options).elements()));
      receive_plainly(want, filled_in, query, options);
    }
    expect_holds(decoder.cache, id, want);
    ASSERT_TRUE(decoder.cache.keep(id, {}));
    EXPECT_EQ(decoder.cache.length(id).value(), 0u);
    EXPECT_EQ(decoder.cache.free_pages(), decoder.cache.pages());
  }
}

// An infinite value that moved to another page; the last rows do not see it.
TEST(KeepTest, AMaskedValueIsNotRead) {
  const AttentionOptions options = {.mask = window(20, 0)};
  Decoder decoder(cache_of(16), options);
  Text text(200, 440);
  text.value(0, 148, 1, 3) = std::numeric_limits<float>::infinity();
  auto output = filled<float, 4>({1, 200, kHeads, kDv}, 42);
  const SequenceId id = decoder.cache.add().value();
  decoder.take(id, text, 0, 150, output);
  PlainSequence want;
  add_tokens(want, decoder.cache.options(), text.key, text.value, 0, 0, 150);
  const auto indices = every_third(40, 150);
  ASSERT_TRUE(decoder.cache.keep(id, indices));
  keep_plainly(want, decoder.cache.options(), indices);
  for (const auto& [first, count] :
       {std::pair(150u, 1u), std::pair(151u, 39u), std::pair(190u, 1u)}) {
    decoder.take(id, text, first, count, output);
    add_tokens(want, decoder.cache.options(), text.key, text.value, 0, first,
               count);
    EXPECT_TRUE(
        same_bits({&output(0, first, 0, 0), count * kHeads * kDv},
                  attend_plainly(want, decoder.cache.options(),
                                 rows(text.query.view(), first, count), options)
                      .elements()));
  }
}

TEST(KeepTest, AForkKeepsWhatItHas) {
  KvCacheOptions options = cache_of(16);
  options.max_tokens = 160;
  auto cache = KvCache::create(options).value();
  const Text text(100, 430);
  const SequenceId a = cache.add().value();
  const SequenceId ids[] = {a};
  ASSERT_TRUE(cache.append(ids, text.key, text.value));
  const SequenceId b = cache.fork(a).value();
  EXPECT_EQ(cache.free_pages(), 3u);
  const auto all = plain(text, cache.options());
  // Pages 3 and 4 are written to, and a still needs them.
  auto kept = all;
  const auto indices = every_third(50, 100);
  ASSERT_TRUE(cache.keep(b, indices));
  keep_plainly(kept, cache.options(), indices);
  EXPECT_EQ(cache.free_pages(), 1u);
  expect_holds(cache, a, all);
  expect_holds(cache, b, kept);
  // The first tokens alone: nothing moves, no page is needed.
  const SequenceId c = cache.fork(a).value();
  std::vector<std::int64_t> first(70);
  std::iota(first.begin(), first.end(), 0);
  ASSERT_TRUE(cache.keep(c, first));
  EXPECT_EQ(cache.free_pages(), 1u);
  expect_holds(cache, a, all);
  ASSERT_TRUE(cache.erase(a));
  ASSERT_TRUE(cache.erase(b));
  ASSERT_TRUE(cache.erase(c));
  EXPECT_EQ(cache.free_pages(), cache.pages());
}

TEST(KeepTest, NothingIsAllocated) {
  Decoder decoder(collecting(cache_of(16)), {.mask = causal()});
  const Text text(64, 900);
  const SequenceId ids[] = {decoder.cache.add().value()};
  auto output = filled<float, 4>({1, 64, kHeads, kDv}, 42);
  auto sums = filled<float, 2>({kHeads, 22}, 42);
  const auto indices = every_third(1, 64);
  const std::size_t before = allocations;
  bool good = true;
  for (const auto& [first, count] : {std::pair(0u, 63u), std::pair(63u, 1u)}) {
    good =
        good && decoder.plan.run(ids, rows(text.query.view(), first, count),
                                 rows(text.key.view(), first, count),
                                 rows(text.value.view(), first, count),
                                 {.output = rows(output.view(), first, count)},
                                 decoder.workspace);
  }
  const auto fork = decoder.cache.fork(ids[0]);
  good = good && fork && decoder.cache.keep(*fork, indices) &&
         decoder.cache.read_received(*fork, 0, sums.view());
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(good);
}

}  // namespace
}  // namespace headwise::testing_support
