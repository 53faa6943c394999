#include "headwise/attention/statistics.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "attention/naive_statistics.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/plan.h"
#include "support/errors.h"
#include "support/half_tensors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const OperationOptions kAll = {
    .statistics = {.rows = true, .top_keys = 5, .columns = true, .map = true}};

AttentionSpec spec_of(const Inputs<float>& in, const AttentionOptions& options,
                      const OperationOptions& operation_options) {
  return AttentionSpec::create(
             attention_shape(in.query.extents(), in.key.extents(),
                             in.value.extents())
                 .value(),
             options, operation_options)
      .value();
}

struct Asked {
  Outputs<float> out;
  AttentionStatistics statistics;
};

Asked ask(const Inputs<float>& in, const AttentionOptions& options,
          const OperationOptions& operation_options = kAll) {
  Asked asked{outputs_for(in, options, operation_options), {}};
  auto done = attention_statistics(view_of(in.query), view_of(in.key),
                                   view_of(in.value), asked.out.views(),
                                   options, operation_options);
  EXPECT_TRUE(done) << done.error().message();
  asked.statistics = *std::move(done);
  return asked;
}

// `got` and `want` as far as both are numbers; NaN where `want` is.
template <std::size_t Rank>
testing::AssertionResult near(const Tensor<float, Rank>& got,
                              const Tensor<double, Rank>& want,
                              double tolerance) {
  if (got.extents() != want.extents()) {
    return testing::AssertionFailure() << "another shape";
  }
  for (std::size_t n = 0; n < got.size(); ++n) {
    const double x = static_cast<double>(got.data()[n]);
    const double y = want.data()[n];
    if (std::isnan(x) != std::isnan(y) ||
        std::fabs(x - y) > tolerance * std::max(1.0, std::fabs(y))) {
      return testing::AssertionFailure()
             << "element " << n << " is " << x << ", expected " << y;
    }
  }
  return testing::AssertionSuccess();
}

void expect_naive(const Inputs<float>& in, AttentionOptions options,
                  const OperationOptions& operation_options,
                  const std::string& name) {
  SCOPED_TRACE(name);
  options.attn_weights = AttnWeights::none;
  const AttentionStatistics got =
      ask(in, options, operation_options).statistics;
  const AttentionSpec spec = spec_of(in, options, operation_options);
  options.attn_weights = AttnWeights::per_head;
  OperationOptions of_reference = operation_options;
  of_reference.statistics = {};
  const Outputs<double> whole = reference(widened(in), options, of_reference);
  const NaiveStatistics want = NaiveStatisticsOf(whole, spec).run();
  constexpr double kTolerance = 1e-5;
  EXPECT_TRUE(near(got.rows, want.rows, kTolerance));
  EXPECT_TRUE(near(got.pooled.means, want.mean, kTolerance));
  EXPECT_TRUE(near(got.columns, want.columns, kTolerance));
  EXPECT_TRUE(near(got.map_mean, want.map_mean, kTolerance));
  EXPECT_TRUE(near(got.map_largest, want.map_largest, kTolerance));
}

TEST(StatisticsTest, AreThoseOfTheWholeMatrixForEveryMaskAndBias) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 700);
    const auto separators = coin_tosses<2>({shape.B, shape.Lkv}, 701, 0.2);
    for (const bool with_empty_rows : {false, true}) {
      const EveryMask every_mask(shape, with_empty_rows);
      for (auto [name, options, operation_options] :
           every_options(every_mask)) {
        operation_options.statistics = kAll.statistics;
        operation_options.statistics.separators = view_of(separators);
        expect_naive(in, options, operation_options, name);
      }
    }
  }
}

testing::AssertionResult same(const AttentionStatistics& a,
                              const AttentionStatistics& b) {
  if (std::ranges::equal(a.top_keys.elements(), b.top_keys.elements())) {
    for (const auto& [x, y] :
         {std::pair(a.rows.elements(), b.rows.elements()),
          std::pair(a.top_weights.elements(), b.top_weights.elements()),
          std::pair(a.columns.elements(), b.columns.elements()),
          std::pair(a.map_mean.elements(), b.map_mean.elements()),
          std::pair(a.map_largest.elements(), b.map_largest.elements()),
          std::pair(a.pooled.means.elements(), b.pooled.means.elements())}) {
      if (auto bits = same_bits(x, y); !bits) {
        return bits;
      }
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "other top keys";
}

// More than a block of keys, more than a chunk of queries, uneven.
const AttentionShape kLong = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 1000, .Lkv = 1100, .D = 8, .Dv = 8};

TEST(StatisticsTest, HaveTheSameBitsOnAnyThreads) {
  const Inputs<float> in = random_inputs(kLong, 710);
  AttentionOptions options{.mask = causal(), .query_start = 100};
  const Asked want = ask(in, options);
  for (const std::size_t threads : {1u, 2u, 5u}) {
    const Executor executor = Executor::with_threads(threads).value();
    options.executor = &executor;
    const Asked got = ask(in, options);
    EXPECT_TRUE(same(got.statistics, want.statistics)) << threads;
    EXPECT_TRUE(same_bits(got.out.output, want.out.output)) << threads;
  }
}

template <class T>
void expect_statistics_of_the_widened(const Inputs<float>& in,
                                      const AttentionOptions& options) {
  const auto query = narrowed_to<T>(in.query);
  const auto key = narrowed_to<T>(in.key);
  const auto value = narrowed_to<T>(in.value);
  const Asked want = ask(
      {widened_to_float(query), widened_to_float(key), widened_to_float(value)},
      options);
  auto output = narrowed_to<T>(want.out.output);
  std::ranges::fill(output.elements(), T{});
  const auto got = attention_statistics(query, key, value,
                                        AttentionOutputsOf<T>{.output = output},
                                        options, kAll)
                       .value();
  EXPECT_TRUE(same(got, want.statistics));
  EXPECT_TRUE(
      same_bits(widened_to_float(output), rounded_to<T>(want.out.output)));
}

TEST(StatisticsTest, Of16BitTensorsAreThoseOfTheWidenedOnes) {
  const Inputs<float> in = random_inputs(kLong, 715);
  const AttentionOptions options{.mask = causal(), .query_start = 100};
  expect_statistics_of_the_widened<BFloat16>(in, options);
  expect_statistics_of_the_widened<Float16>(in, options);
  auto one = narrowed_to<BFloat16>(filled<float, 4>({1, 2, 1, 4}, 1));
  const auto other = narrowed_to<BFloat16>(filled<float, 4>({1, 2, 1, 3}, 1));
  EXPECT_THAT(attention_statistics(one, other, one,
                                   AttentionOutputsOf<BFloat16>{.output = one},
                                   {}, kAll),
              IsError(ErrorCode::shape_mismatch, "key"));
}

TEST(StatisticsTest, LeaveTheOutputsBitsAlone) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 720);
    const EveryMask every_mask(shape, true);
    for (auto [name, options, operation_options] : every_options(every_mask)) {
      if (options.attn_weights == AttnWeights::mean) {
        continue;
      }
      const Outputs<float> want = attend(in, options, operation_options);
      operation_options.statistics = kAll.statistics;
      EXPECT_TRUE(same_bits(ask(in, options, operation_options).out, want))
          << name;
    }
  }
}

TEST(StatisticsTest, OfEachSortAloneAreThoseOfAllTogether) {
  const Inputs<float> in = random_inputs(kLong, 730);
  const auto of = [&](const StatisticsOptions& statistics) {
    return ask(in, {.mask = window(300, 20)}, {.statistics = statistics})
        .statistics;
  };
  const AttentionStatistics all = of(kAll.statistics);
  EXPECT_TRUE(same_bits(of({.rows = true}).rows, all.rows));
  EXPECT_TRUE(same_bits(of({.top_keys = 5}).top_weights, all.top_weights));
  EXPECT_TRUE(same_bits(of({.columns = true}).columns, all.columns));
  EXPECT_TRUE(same_bits(of({.map = true}).map_mean, all.map_mean));
  EXPECT_EQ(of({}).rows.size(), 0u);
}

// Under dropout the columns are computed from the scores once more.
TEST(StatisticsTest, AreOfTheWeightsBeforeDropout) {
  const Inputs<float> in = random_inputs(kLong, 740);
  AttentionOptions options{.mask = causal()};
  const AttentionStatistics want = ask(in, options).statistics;
  options.dropout = {.p = 0.3, .training = true, .seed = Seed{9}};
  EXPECT_TRUE(same(ask(in, options).statistics, want));
}

TEST(StatisticsTest, TopKeysAreThoseOfTheLargestWeights) {
  const Inputs<float> in = random_inputs(kLong, 750);
  const Asked asked = ask(in,
                          {.mask = causal() & window(700, 0),
                           .attn_weights = AttnWeights::per_head},
                          {.statistics = {.top_keys = 8}});
  const AttentionStatistics& got = asked.statistics;
  for (std::size_t i = 0; i < kLong.Lq; i += 7) {
    std::vector<std::size_t> keys(kLong.Lkv);
    std::iota(keys.begin(), keys.end(), 0);
    const auto weight = [&](std::size_t j) {
      return asked.out.attn_weights(1, 3, i, j);
    };
    std::ranges::stable_sort(keys, std::greater(), weight);
    for (std::size_t r = 0; r < 8; ++r) {
      const std::int64_t key = got.top_keys(1, 3, i, r);
      if (r > i) {
        EXPECT_EQ(key, -1);
        EXPECT_EQ(got.top_weights(1, 3, i, r), 0);
        continue;
      }
      EXPECT_NEAR(weight(static_cast<std::size_t>(key)), weight(keys[r]), 1e-7);
      EXPECT_NEAR(got.top_weights(1, 3, i, r), weight(keys[r]), 1e-7);
    }
  }
}

TEST(StatisticsTest, AmongEqualKeysTheLowestAreOnTop) {
  Inputs<float> in = random_inputs(kLong, 760);
  std::ranges::fill(in.key.elements(), 0.5f);
  const AttentionStatistics got =
      ask(in, {}, {.statistics = {.top_keys = 3}}).statistics;
  for (std::size_t i = 0; i < kLong.Lq; ++i) {
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(got.top_keys(0, 0, i, r), static_cast<std::int64_t>(r));
    }
  }
}

// Each query reads one feature of the keys. Few scores are above the many that
// tie, so that the late ones push some of these down and one out. Most queries
// read the same feature: a key is better for many of them, or for few.
TEST(StatisticsTest, AmongScoresThatTieTheLowestKeyComesFirst) {
  const AttentionShape kShape = {1, 1, 1, 100, 900, 2, 1};
  constexpr std::size_t kTop = 8;
  Inputs<float> in = random_inputs(kShape, 761);
  std::ranges::fill(in.query.elements(), 0.0f);
  const auto feature_of = [](std::size_t i) -> std::size_t {
    return i % 16 == 5 ? 1 : 0;
  };
  for (std::size_t i = 0; i < kShape.Lq; ++i) {
    in.query(0, i, 0, feature_of(i)) = 1;
  }
  for (std::size_t j = 0; j < kShape.Lkv; ++j) {
    for (std::size_t d = 0; d < kShape.D; ++d) {
      const std::size_t place = j + 40 * d;
      const bool crowd = d == 1 && j >= 560 && j < 572;
      in.key(0, j, 0, d) = crowd                ? 3.0f
                           : place % 450 == 107 ? 2.0f
                           : place % 300 == 200 ? 1.0f
                           : place % 3 == 0     ? -1.0f
                                                : 0.0f;
    }
  }
  const AttentionStatistics got =
      ask(in, {}, {.statistics = {.top_keys = kTop}}).statistics;
  for (std::size_t i = 0; i < kShape.Lq; ++i) {
    std::vector<std::size_t> keys(kShape.Lkv);
    std::iota(keys.begin(), keys.end(), 0);
    std::ranges::stable_sort(keys, std::greater(), [&](std::size_t j) {
      return in.key(0, j, 0, feature_of(i));
    });
    for (std::size_t r = 0; r < kTop; ++r) {
      EXPECT_EQ(got.top_keys(0, 0, i, r), static_cast<std::int64_t>(keys[r]))
          << "query " << i << ", rank " << r;
    }
  }
}

TEST(StatisticsTest, OfARaggedBatchAreThoseOfEachSequenceAlone) {
  const std::vector<std::size_t> lengths = {130, 0, 1, 700, 49};
  const auto offsets =
      tensor_of<std::int64_t, 1>({6}, {0, 130, 130, 131, 831, 880});
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 880, .Lkv = 880, .D = 8, .Dv = 8};
  const Inputs<float> in = random_inputs(shape, 770);
  AttentionOptions options{.mask = causal(), .offsets = offsets};
  const AttentionStatistics all = ask(in, options).statistics;
  options.offsets = {};
  std::size_t first = 0;
  for (std::size_t b = 0; b < lengths.size(); first += lengths[b++]) {
    const std::size_t L = lengths[b];
    if (L == 0) {
      continue;
    }
    auto output = filled<float, 4>({1, L, 2, 8}, 0);
    const auto rows_of = [&](const Tensor<float, 4>& tensor) {
      const std::size_t H = tensor.extent(2);
      return TensorView<const float, 4>(&tensor(0, first, 0, 0), {1, L, H, 8});
    };
    const AttentionStatistics one =
        attention_statistics(rows_of(in.query), rows_of(in.key),
                             rows_of(in.value), {.output = output}, options,
                             kAll)
            .value();
    for (std::size_t h = 0; h < 2; ++h) {
      EXPECT_TRUE(same_bits({&one.rows(0, h, 0, 0), L * kStatistics},
                            {&all.rows(0, h, first, 0), L * kStatistics}));
      EXPECT_TRUE(same_bits({&one.columns(0, h, 0), L},
                            {&all.columns(0, h, first), L}));
      for (std::size_t r = 0; r < map_size(L); ++r) {
        EXPECT_TRUE(same_bits({&one.map_mean(0, h, r, 0), map_size(L)},
                              {&all.map_mean(b, h, r, 0), map_size(L)}));
      }
    }
  }
}

TEST(StatisticsTest, QueriesBehindTheLengthsCountForNothing) {
  const Inputs<float> in = random_inputs(kLong, 780);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {700, 0});
  OperationOptions with_lengths = kAll;
  with_lengths.statistics.query_lengths = lengths;
  expect_naive(in, {}, with_lengths, "query_lengths");
  const AttentionStatistics got = ask(in, {}, with_lengths).statistics;
  EXPECT_EQ(got.pooled.rows(1), 700);
  EXPECT_EQ(got.columns(1, 0, 0), 0);
  // Padding of 300 queries moves no bit.
  const auto cut = [](const Tensor<float, 4>& tensor, std::size_t L) {
    return TensorView<const float, 4>(tensor.data(),
                                      {1, L, tensor.extent(2), 8});
  };
  auto output = filled<float, 4>({1, 700, 4, 8}, 0);
  const AttentionStatistics alone =
      attention_statistics(cut(in.query, 700), cut(in.key, 1100),
                           cut(in.value, 1100), {.output = output}, {}, kAll)
          .value();
  EXPECT_TRUE(same_bits({&alone.columns(0, 2, 0), 1100},
                        {&got.columns(0, 2, 0), 1100}));
  EXPECT_TRUE(same_bits(alone.pooled.means, got.pooled.means));
  EXPECT_TRUE(same_bits({&alone.map_mean(0, 2, 0, 0), 64 * 64},
                        {&got.map_mean(0, 2, 0, 0), 64 * 64}));
}

TEST(StatisticsTest, ARowThatIsNaNShowsInWhatItIsIn) {
  Inputs<float> in = random_inputs(kLong, 790);
  in.query(0, 500, 2, 3) = kNaN;
  const AttentionStatistics got = ask(in, {}).statistics;
  EXPECT_TRUE(std::isnan(got.row(0, 2, 500, Statistic::entropy)));
  EXPECT_FALSE(std::isnan(got.row(0, 2, 499, Statistic::entropy)));
  EXPECT_TRUE(std::isnan(got.pooled.mean(2, Statistic::entropy)));
  EXPECT_TRUE(std::isnan(got.columns(0, 2, 7)));
  EXPECT_TRUE(std::isnan(got.map_mean(0, 2, 500 * 64 / 1000, 7)));
  EXPECT_FALSE(std::isnan(got.map_mean(0, 2, 500 * 64 / 1000 + 1, 7)));
  EXPECT_FALSE(std::isnan(got.pooled.mean(1, Statistic::entropy)));
  EXPECT_FALSE(std::isnan(got.columns(1, 2, 7)));
}

TEST(StatisticsTest, RowsWithoutAKeyAreSaidAndNotAveragedIn) {
  const Inputs<float> in = random_inputs(kLong, 800);
  const AttentionOptions options{
      .mask = causal(), .query_start = -10, .empty_rows = EmptyRow::uniform};
  expect_naive(in, options, kAll, "the first ten rows");
  const AttentionStatistics got = ask(in, options).statistics;
  EXPECT_EQ(got.pooled.rows_without_key(0), 20);
  EXPECT_EQ(got.pooled.rows(0), 1980);
  EXPECT_TRUE(std::isnan(got.row(0, 0, 9, Statistic::entropy)));
  EXPECT_EQ(got.row(0, 0, 9, Statistic::largest), 0);
}

// Scores so far apart that a block's maximum says nothing of the next one's.
TEST(StatisticsTest, EntropyOfHugeScoresIsANumber) {
  const Inputs<float> in = random_inputs(kLong, 810, 1e18);
  const AttentionStatistics got = ask(in, {}).statistics;
  for (const float x : got.rows.elements()) {
    EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(StatisticsTest, WithoutValuesAreTheStatisticsAlone) {
  const Inputs<float> in = random_inputs(kLong, 820);
  const AttentionStatistics want = ask(in, {}).statistics;
  const TensorView<const float, 4> none(nullptr, {2, 1100, 2, 0});
  const auto got =
      attention_statistics(
          view_of(in.query), view_of(in.key), none,
          {.output = TensorView<float, 4>(nullptr, {2, 1000, 4, 0})}, {}, kAll)
          .value();
  EXPECT_TRUE(same(got, want));
}

TEST(StatisticsTest, AllOfALongSequenceTakeLittleMemory) {
  const AttentionShape kShape = {1, 8, 8, 32768, 32768, 64, 64};
  const Executor executor = Executor::with_threads(2).value();
  const AttentionPlan plan =
      AttentionPlan::create(kShape, {.executor = &executor},
                            {.statistics = {.rows = true,
                                            .top_keys = 8,
                                            .columns = true,
                                            .map = true}})
          .value();
  const AttentionStatistics all =
      AttentionStatistics::create(plan.spec()).value();
  const std::size_t floats = all.rows.size() + all.top_weights.size() +
                             all.columns.size() + all.map_mean.size() +
                             all.map_largest.size();
  EXPECT_LT(plan.workspace_bytes() + floats * sizeof(float) +
                all.top_keys.size() * sizeof(std::int64_t),
            std::size_t{64} << 20);
}

TEST(StatisticsTest, SayWhatDoesNotFit) {
  const Inputs<float> in = random_inputs(kShapes[0], 830);
  const auto error_of = [&](const StatisticsOptions& statistics,
                            AttnWeights weights = AttnWeights::none) {
    auto out = outputs_for(in, weights);
    const auto done = attention_statistics(
        view_of(in.query), view_of(in.key), view_of(in.value), out.views(),
        {.attn_weights = weights}, {.statistics = statistics});
    return done ? "none" : done.error().message();
  };
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {5, 6});
  const auto three = tensor_of<std::int64_t, 1>({3}, {1, 1, 1});
  const auto separators = coin_tosses<2>({2, 6}, 831, 0.5);
  EXPECT_EQ(error_of({.rows = true, .query_lengths = lengths}),
            "attention: statistics.query_lengths[1] is 6, expected a number "
            "from 0 to the 5 queries");
  EXPECT_EQ(
      error_of({.rows = true, .query_lengths = three}),
      "attention: statistics.query_lengths has shape (3), expected (B) = (2)");
  EXPECT_EQ(error_of({.rows = true, .separators = view_of(separators)}),
            "attention: statistics.separators has shape (2, 6), expected (B, "
            "Lkv) = (2, "
            "7)");
  EXPECT_EQ(error_of({.top_keys = 65}),
            "attention: statistics.top_keys is 65, expected at most 64");
  EXPECT_EQ(error_of({.map = true}, AttnWeights::mean),
            "attention: attn_weights is mean, expected per_head or none with "
            "statistics");
}

TEST(StatisticsTest, AreNoneOfTheBackwardPass) {
  const Inputs<float> in = random_inputs(kShapes[0], 840);
  Inputs<float> gradients = random_inputs(kShapes[0], 841);
  BackwardInputs inputs;
  inputs.query = view_of(in.query);
  inputs.key = view_of(in.key);
  inputs.value = view_of(in.value);
  AttentionGradients to;
  to.query = gradients.query;
  const Status s =
      attention_backward(inputs, to, {}, {.statistics = {.rows = true}});
  ASSERT_FALSE(s);
  EXPECT_THAT(s, IsAbout("statistics", "asked for",
                         "none: the forward pass computes them"));
}

}  // namespace
}  // namespace headwise::testing_support
