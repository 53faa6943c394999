// What a run returns besides its output: scores and statistics, with the bits
// of attention() on the numbers that the cache holds.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "headwise/attention/statistics.h"
#include "support/allocations.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const OperationOptions kAllStatistics = {
    .statistics = {.rows = true, .top_keys = 5, .columns = true, .map = true}};

// Everything that a run may write; filled with 42.
struct Returned {
  Returned(const AttentionShape& shape, const AttentionOptions& options,
           const OperationOptions& operation)
      : output(filled<float, 4>({shape.B, shape.Lq, shape.Hq, shape.Dv}, 42)),
        scores(filled<float, 4>(
            options.scores == ScoresStage::none
                ? Extents<4>{}
                : Extents<4>{shape.B, shape.Hq, shape.Lq, shape.Lkv},
            42)),
        attn_weights(filled<float, 4>(
            options.attn_weights == AttnWeights::none
                ? Extents<4>{}
                : Extents<4>{shape.B,
                             options.attn_weights == AttnWeights::mean
                                 ? 1
                                 : shape.Hq,
                             shape.Lq, shape.Lkv},
            42)),
        statistics(AttentionStatistics::create(
                       AttentionSpec::create(shape, options, operation).value())
                       .value()) {
    for (auto* const tensor : {&statistics.rows, &statistics.top_weights,
                               &statistics.map_mean, &statistics.map_largest}) {
      std::ranges::fill(tensor->elements(), 42.0F);
    }
    std::ranges::fill(statistics.columns.elements(), 42.0F);
  }

  AttentionOutputs views() {
    return {
        .output = output,
        .attn_weights = attn_weights.size() == 0 ? TensorView<float, 4>()
                                                 : attn_weights.view(),
        .statistics = statistics.views(),
        .scores = scores.size() == 0 ? TensorView<float, 4>() : scores.view()};
  }

  Tensor<float, 4> output;
  Tensor<float, 4> scores;
  Tensor<float, 4> attn_weights;
  AttentionStatistics statistics;
};

testing::AssertionResult same(const Returned& a, const Returned& b) {
  if (!std::ranges::equal(a.statistics.top_keys.elements(),
                          b.statistics.top_keys.elements())) {
    return testing::AssertionFailure() << "other top keys";
  }
  using Numbers = std::pair<std::span<const float>, std::span<const float>>;
  const auto elements = [](const auto& x, const auto& y) {
    return Numbers(x.elements(), y.elements());
  };
  const std::vector<std::pair<std::string, Numbers>> all = {
      {"output", elements(a.output, b.output)},
      {"scores", elements(a.scores, b.scores)},
      {"attn_weights", elements(a.attn_weights, b.attn_weights)},
      {"rows", elements(a.statistics.rows, b.statistics.rows)},
      {"top_weights",
       elements(a.statistics.top_weights, b.statistics.top_weights)},
      {"columns", elements(a.statistics.columns, b.statistics.columns)},
      {"map_mean", elements(a.statistics.map_mean, b.statistics.map_mean)},
      {"map_largest",
       elements(a.statistics.map_largest, b.statistics.map_largest)}};
  for (const auto& [name, numbers] : all) {
    if (auto bits = same_bits(numbers.first, numbers.second); !bits) {
      return bits << " of " << name;
    }
  }
  return testing::AssertionSuccess();
}

AttentionShape shape_of(std::size_t Lq, std::size_t Lkv) {
  return {.B = 1,
          .Hq = kHeads,
          .Hkv = kKeyHeads,
          .Lq = Lq,
          .Lkv = Lkv,
          .D = kD,
          .Dv = kDv};
}

// A text in chunks of these sizes, each compared with one call of attention().
void expect_the_bits_of_calls(const KvCacheOptions& cache, const Text& text,
                              const std::vector<std::size_t>& chunks,
                              const AttentionOptions& options,
                              const OperationOptions& operation,
                              std::size_t threads = 1) {
  Decoder decoder(cache, options, threads, operation);
  const KvCacheOptions& filled_in = decoder.cache.options();
  const SequenceId ids[] = {decoder.cache.add().value()};
  PlainSequence sequence;
  std::size_t first = 0;
  for (const std::size_t count : chunks) {
    add_tokens(sequence, filled_in, text.key, text.value, 0, first, count);
    const auto query = rows(text.query.view(), first, count);
    const AttentionShape shape = shape_of(count, first + count);
    Returned want(shape, options, operation);
    Returned got(shape, options, operation);
    run_plainly(sequence, filled_in, query, options, operation, want.views());
    const Status s =
        decoder.plan.run(ids, query, rows(text.key.view(), first, count),
                         decoder.values(rows(text.value.view(), first, count)),
                         got.views(), decoder.workspace);
    ASSERT_TRUE(s) << s.error().message();
    EXPECT_TRUE(same(got, want)) << "tokens from " << first;
    first += count;
  }
}

const std::vector<std::size_t> kChunks = {140, 1, 40, 9, 1};

std::vector<KvCacheOptions> some_caches() {
  return {cache_of(0), cache_of(16), cache_of(32, DType::int8),
          cache_of(64, DType::bfloat16), cache_of(16, DType::float32, true)};
}

class ReturnedScoresTest : public testing::TestWithParam<ScoresStage> {};

TEST_P(ReturnedScoresTest, HaveTheBitsOfACall) {
  const Text text(191, 3000);
  const auto slopes = alibi_slopes(kHeads).value();
  const auto score_weight = uniform<2>({kHeads, kD}, 3010);
  for (const KvCacheOptions& cache : some_caches()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = window(150, 0),
                              .softcap = 3.0,
                              .alibi = slopes.view(),
                              .scores = GetParam()},
                             {});
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = causal(), .scores = GetParam()},
                             {.score_weight = score_weight.view()});
  }
}

TEST_P(ReturnedScoresTest, OfSequencesOfAnyLengthsAreFilledUp) {
  const AttentionOptions options = {.mask = causal(), .scores = GetParam()};
  Decoder decoder(cache_of(16), options, 2);
  std::vector<SequenceId> ids;
  std::vector<PlainSequence> plain(2);
  const Text text(60, 3020);
  const Text step(2, 3030);
  for (const std::size_t length : {50u, 9u}) {
    const SequenceId id[] = {decoder.cache.add().value()};
    ASSERT_TRUE(decoder.cache.append(id, rows(text.key.view(), 0, length),
                                     rows(text.value.view(), 0, length)));
    add_tokens(plain[ids.size()], decoder.cache.options(), text.key, text.value,
               0, 0, length);
    ids.push_back(id[0]);
  }
  // A token for each.
  const auto batch = [](const Tensor<float, 4>& of) {
    return TensorView<const float, 4>(of.data(),
                                      {2, 1, of.extent(2), of.extent(3)});
  };
  auto output = filled<float, 4>({2, 1, kHeads, kDv}, 42);
  auto scores = filled<float, 4>({2, kHeads, 1, 51}, 42);
  const Status s = decoder.plan.run(
      ids, batch(step.query), batch(step.key), batch(step.value),
      {.output = output, .scores = scores}, decoder.workspace);
  ASSERT_TRUE(s) << s.error().message();
  for (std::size_t b = 0; b < 2; ++b) {
    add_tokens(plain[b], decoder.cache.options(), step.key, step.value, 0, b,
               1);
    const std::size_t length = plain[b].length(decoder.cache.options());
    Returned want(shape_of(1, length), options, {});
    run_plainly(plain[b], decoder.cache.options(),
                rows(step.query.view(), b, 1), options, {}, want.views());
    const float beyond = GetParam() == ScoresStage::bias ? -INFINITY : 0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      EXPECT_TRUE(same_bits({&scores(b, h, 0, 0), length},
                            {&want.scores(0, h, 0, 0), length}));
      for (std::size_t j = length; j < 51; ++j) {
        EXPECT_EQ(scores(b, h, 0, j), beyond);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, ReturnedScoresTest,
                         testing::Values(ScoresStage::raw, ScoresStage::softcap,
                                         ScoresStage::bias,
                                         ScoresStage::softmax));

TEST(DecodeStatisticsTest, HaveTheBitsOfACall) {
  const Text text(191, 3100);
  const auto sinks = uniform<1>({kHeads}, 3110);
  const std::vector<std::size_t> sizes = {1, 3};
  for (const KvCacheOptions& cache : some_caches()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_bits_of_calls(cache, text, kChunks, {.mask = causal()},
                             kAllStatistics);
    OperationOptions uneven = kAllStatistics;
    uneven.kv_groups = HeadGroups::create(sizes).value();
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = window(30, 0),
                              .sinks = sinks.view(),
                              .scores = ScoresStage::softmax},
                             uneven);
  }
}

TEST(DecodeStatisticsTest, InBf16HaveTheBitsOfACall) {
  const Text text(191, 3120);
  AttentionOptions options = {.mask = causal()};
  options.arithmetic = Arithmetic::bf16;
  AttentionOptions mean = options;
  mean.attn_weights = AttnWeights::mean;
  mean.scores = ScoresStage::softcap;
  for (const KvCacheOptions& cache : some_caches()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_bits_of_calls(cache, text, kChunks, options, kAllStatistics);
    expect_the_bits_of_calls(cache, text, kChunks, mean, {});
  }
}

// A text of one sequence, cut into `chunks`, on 1, 2, 3 and 7 threads.
void expect_no_thread_changes_a_bit(std::size_t length, std::uint32_t stream,
                                    const std::vector<std::size_t>& chunks,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation) {
  KvCacheOptions cache = cache_of(128, DType::bfloat16);
  cache.max_tokens = length;
  cache.max_sequences = 1;
  const Text text(length, stream);
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    expect_the_bits_of_calls(cache, text, chunks, options, operation, threads);
  }
}

// More than one chunk of queries, and more keys than are kept for columns.
TEST(DecodeStatisticsTest, ThreadsAndLengthsChangeNoBit) {
  expect_no_thread_changes_a_bit(8400, 3200,
                                 {900, 1, 1999, 2000, 2000, 1499, 1},
                                 {.mask = causal()}, kAllStatistics);
}

TEST(DecodePlanMeanTest, TheMeanOfTheWeightsHasTheBitsOfACall) {
  const Text text(191, 3800);
  const auto starts = tensor_of<std::int64_t, 1>({1}, {2});
  const std::vector<std::size_t> sizes = {1, 3};
  const OperationOptions uneven = {.kv_groups =
                                       HeadGroups::create(sizes).value()};
  for (const KvCacheOptions& cache : some_caches()) {
    SCOPED_TRACE(name_of(cache));
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = causal(),
                              .attn_weights = AttnWeights::mean,
                              .scores = ScoresStage::softcap},
                             {});
    // Rows without a key too.
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = window(30, 0) & key_starts(starts.view()),
                              .empty_rows = EmptyRow::nan,
                              .attn_weights = AttnWeights::mean},
                             uneven);
  }
}

// More keys than are kept for the weights.
TEST(DecodePlanMeanTest, ThreadsAndLengthsChangeNoBit) {
  expect_no_thread_changes_a_bit(
      1300, 3810, {900, 1, 350, 48, 1},
      {.mask = causal(), .attn_weights = AttnWeights::mean}, {});
}

TEST(DecodePlanMeanTest, ARollingWindowHasNoLongestSequence) {
  KvCacheOptions cache = cache_of(16);
  cache.window = RollingWindow{.left = 40};
  auto rolling = KvCache::create(cache).value();
  EXPECT_THAT(DecodePlan::create(rolling, kHeads, 1,
                                 {.attn_weights = AttnWeights::mean}),
              IsError(ErrorCode::unsupported, "attn_weights"));
}

TEST(DecodePlanMeanTest, ErrorsLeaveTheCacheAsItWas) {
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::mean};
  Decoder decoder(cache_of(16), options);
  const Text text(20, 3820);
  const SequenceId ids[] = {decoder.cache.add().value()};
  Returned got(shape_of(20, 20), options, {});
  auto per_head = filled<float, 4>({1, kHeads, 20, 20}, 42);
  AttentionOutputs wrong = got.views();
  wrong.attn_weights = per_head;
  EXPECT_THAT(decoder.plan.run(ids, text.query, text.key, text.value, wrong,
                               decoder.workspace),
              IsError(ErrorCode::shape_mismatch, "attn_weights"));
  EXPECT_TRUE(same(got, Returned(shape_of(20, 20), options, {})));
  EXPECT_EQ(decoder.cache.length(ids[0]).value(), 0u);
  ASSERT_TRUE(decoder.plan.run(ids, text.query, text.key, text.value,
                               got.views(), decoder.workspace));
  Returned want(shape_of(20, 20), options, {});
  run_plainly(plain(text, decoder.cache.options()), decoder.cache.options(),
              text.query, options, {}, want.views());
  EXPECT_TRUE(same(got, want));
}

TEST(DecodeStatisticsTest, SeparatorsAndLengthsAreThoseOfTheRun) {
  const Text text(70, 3300);
  const auto separators = coin_tosses<2>({1, 70}, 3310, 0.2);
  const auto lengths = tensor_of<std::int64_t, 1>({1}, {49});
  OperationOptions operation = kAllStatistics;
  operation.statistics.separators = separators.view();
  operation.statistics.query_lengths = lengths.view();
  expect_the_bits_of_calls(cache_of(16), text, {70}, {.mask = causal()},
                           operation);
}

// (B, Hq, longest length) for a batch, in rows of all lengths with offsets.
TEST(DecodeStatisticsTest, ColumnsOfSequencesOfAnyLengths) {
  const OperationOptions columns = {.statistics = {.columns = true}};
  const AttentionOptions options = {.mask = causal()};
  const Text text(60, 3400);
  const Text step(2, 3410);
  for (const bool ragged : {false, true}) {
    Decoder decoder(cache_of(16), options, 1, columns);
    std::vector<SequenceId> ids;
    std::vector<PlainSequence> plain(2);
    for (const std::size_t length : {50u, 9u}) {
      const SequenceId id[] = {decoder.cache.add().value()};
      ASSERT_TRUE(decoder.cache.append(id, rows(text.key.view(), 0, length),
                                       rows(text.value.view(), 0, length)));
      add_tokens(plain[ids.size()], decoder.cache.options(), text.key,
                 text.value, 0, 0, length);
      ids.push_back(id[0]);
    }
    const auto batch = [&](const Tensor<float, 4>& of) {
      const Extents<4> extents =
          ragged ? of.extents() : Extents<4>{2, 1, of.extent(2), of.extent(3)};
      return TensorView<const float, 4>(of.data(), extents);
    };
    const std::vector<std::int64_t> offsets = {0, 1, 2};
    auto output = filled<float, 4>(
        ragged ? Extents<4>{1, 2, kHeads, kDv} : Extents<4>{2, 1, kHeads, kDv},
        42);
    auto sums = filled<float, 3>(
        ragged ? Extents<3>{1, kHeads, 61} : Extents<3>{2, kHeads, 51}, 42);
    const Status s = decoder.plan.run(
        ids, batch(step.query), batch(step.key), batch(step.value),
        {.output = output, .statistics = {.columns = sums.view()}},
        decoder.workspace,
        ragged ? TensorView<const std::int64_t, 1>(offsets)
               : TensorView<const std::int64_t, 1>());
    ASSERT_TRUE(s) << s.error().message();
    for (std::size_t b = 0; b < 2; ++b) {
      add_tokens(plain[b], decoder.cache.options(), step.key, step.value, 0, b,
                 1);
      const std::size_t length = plain[b].length(decoder.cache.options());
      Returned want(shape_of(1, length), options, columns);
      run_plainly(plain[b], decoder.cache.options(),
                  rows(step.query.view(), b, 1), options, columns,
                  want.views());
      for (std::size_t h = 0; h < kHeads; ++h) {
        const float* got = ragged ? &sums(0, h, b * 51) : &sums(b, h, 0);
        EXPECT_TRUE(same_bits({got, length},
                              {&want.statistics.columns(0, h, 0), length}));
        for (std::size_t j = length; !ragged && j < 51; ++j) {
          EXPECT_EQ(sums(b, h, j), 0);
        }
      }
    }
  }
}

TEST(DecodeStatisticsTest, ARollingWindowGivesWhatItsMaskGives) {
  KvCacheOptions cache = cache_of(16);
  cache.window = RollingWindow{.left = 40, .keep_first = 3};
  cache.max_tokens = 512;
  const Text text(191, 3500);
  const OperationOptions rows_and_maps = {
      .statistics = {.rows = true, .top_keys = 3, .map = true}};
  for (const ScoresStage stage : {ScoresStage::bias, ScoresStage::softmax}) {
    expect_the_bits_of_calls(cache, text, kChunks,
                             {.mask = causal(), .scores = stage},
                             rows_and_maps);
  }
  auto rolling = KvCache::create(cache).value();
  const auto create = [&](const AttentionOptions& options,
                          const OperationOptions& operation) {
    return DecodePlan::create(rolling, kHeads, 1, options, operation);
  };
  EXPECT_THAT(create({.scores = ScoresStage::raw}, {}),
              IsError(ErrorCode::unsupported, "scores"));
  EXPECT_THAT(create({.scores = ScoresStage::softcap}, {}),
              IsError(ErrorCode::unsupported, "scores"));
  EXPECT_THAT(create({}, {.statistics = {.columns = true}}),
              IsError(ErrorCode::unsupported, "statistics.columns"));
}

TEST(DecodeStatisticsTest, AStepAllocatesNothing) {
  const AttentionOptions options = {.mask = causal(),
                                    .scores = ScoresStage::raw};
  Decoder decoder(cache_of(16), options, 1, kAllStatistics);
  const Text text(60, 3600);
  const SequenceId ids[] = {decoder.cache.add().value()};
  Returned got(shape_of(60, 60), options, kAllStatistics);
  const AttentionOutputs views = got.views();
  const std::size_t before = allocations;
  const Status s = decoder.plan.run(ids, text.query, text.key, text.value,
                                    views, decoder.workspace);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(s);
}

TEST(DecodeStatisticsTest, OnlyColumnsTakeMemoryForTheLongestSequence) {
  const auto bytes = [](std::size_t max_tokens, bool columns) {
    KvCacheOptions options = cache_of(16);
    options.max_tokens = max_tokens;
    OperationOptions operation = kAllStatistics;
    operation.statistics.columns = columns;
    return Decoder(options, {.mask = causal(), .scores = ScoresStage::raw}, 1,
                   operation)
        .plan.workspace_bytes();
  };
  EXPECT_EQ(bytes(1 << 20, false), bytes(4096, false));
  EXPECT_GT(bytes(1 << 20, true), bytes(4096, true));
}

// Nothing is appended or written, and the next run is as if nothing was.
TEST(DecodeStatisticsTest, ErrorsLeaveTheCacheAsItWas) {
  const AttentionOptions options = {.mask = causal(),
                                    .scores = ScoresStage::bias};
  Decoder decoder(cache_of(16), options, 1, kAllStatistics);
  const Text text(20, 3700);
  const SequenceId ids[] = {decoder.cache.add().value()};
  Returned got(shape_of(20, 20), options, kAllStatistics);
  const Returned untouched(shape_of(20, 20), options, kAllStatistics);
  const auto run = [&](const auto& change) {
    AttentionOutputs outputs = got.views();
    change(outputs);
    return decoder.plan.run(ids, text.query, text.key, text.value, outputs,
                            decoder.workspace);
  };
  auto other = filled<float, 4>({1, kHeads, 20, 21}, 42);
  auto short_columns = filled<float, 3>({1, kHeads, 19}, 42);
  EXPECT_THAT(run([&](AttentionOutputs& to) { to.scores = other; }),
              IsError(ErrorCode::shape_mismatch, "scores"));
  EXPECT_THAT(run([&](AttentionOutputs& to) { to.scores = {}; }),
              IsError(ErrorCode::shape_mismatch, "scores"));
  EXPECT_THAT(
      run([&](AttentionOutputs& to) { to.statistics.columns = short_columns; }),
      IsError(ErrorCode::shape_mismatch, "statistics.columns"));
  EXPECT_THAT(run([&](AttentionOutputs& to) { to.statistics.rows = {}; }),
              IsError(ErrorCode::shape_mismatch, "statistics.rows"));
  EXPECT_THAT(run([&](AttentionOutputs& to) {
                to.statistics.map_mean = to.statistics.map_largest;
              }),
              IsError(ErrorCode::invalid_argument, "statistics.map_largest"));
  EXPECT_TRUE(same(got, untouched));
  EXPECT_EQ(decoder.cache.length(ids[0]).value(), 0u);
  ASSERT_TRUE(run([](AttentionOutputs&) {}));
  Returned want(shape_of(20, 20), options, kAllStatistics);
  run_plainly(plain(text, decoder.cache.options()), decoder.cache.options(),
              text.query, options, kAllStatistics, want.views());
  EXPECT_TRUE(same(got, want));
}

}  // namespace
}  // namespace headwise::testing_support
