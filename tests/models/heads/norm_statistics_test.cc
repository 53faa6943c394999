#include "headwise/heads/norm_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/naive_statistics.h"
#include "heads/every_call.h"
#include "heads/plain_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

struct Case {
  MultiHeadAttention layer;
  PlainBatch heads;
  Tensor<float, 3> norms;
};

Case small_case(bool causal = false) {
  auto layer =
      MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{5})
          .value();
  auto heads = plain_batch({150, 3, 0}, 150, 3, 8, 8, causal);
  auto norms = value_norms(layer, heads.value).value();
  return {std::move(layer), std::move(heads), std::move(norms)};
}

NormStatistics run(const Case& c) {
  return norm_statistics(c.heads.query, c.heads.key, c.norms, c.heads.options(),
                         {.statistics = {.rows = true}})
      .value();
}

class NormStatisticsTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Causal, NormStatisticsTest, testing::Bool());

TEST_P(NormStatisticsTest, AreThoseOfWeightsTimesNorms) {
  const Case c = small_case(GetParam());
  const NormStatistics done = run(c);
  const auto [B, L, H, D] = c.heads.query.extents();
  Outputs<double> plain;
  plain.attn_weights = Tensor<double, 4>::create({B, H, L, L}).value();
  plain.lse = Tensor<double, 3>::create({B, H, L}).value();
  std::vector<double> sums(H);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      const PlainMatrix weights = c.heads.weights(b, h);
      for (std::size_t i = 0; i < L; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < L; ++j) {
          plain.attn_weights(b, h, i, j) =
              weights[i][j] *
              plain_norm(plain_head_value(c.layer, c.heads.value, b, j, h));
          sum += plain.attn_weights(b, h, i, j);
        }
        for (std::size_t j = 0; j < L && sum != 0; ++j) {
          plain.attn_weights(b, h, i, j) /= sum;
        }
        plain.lse(b, h, i) =
            sum == 0 ? -std::numeric_limits<double>::infinity() : 0;
        ASSERT_NEAR(done.sums(b, i, h), sum, 1e-5);
        sums[h] += sum;
      }
    }
  }
  const AttentionSpec spec =
      AttentionSpec::create(
          {.B = B, .Hq = H, .Hkv = H, .Lq = L, .Lkv = L, .D = D, .Dv = D},
          c.heads.options(), {.statistics = {.rows = true}})
          .value();
  const NaiveStatistics expected = NaiveStatisticsOf(plain, spec).run();
  for (std::size_t h = 0; h < H; ++h) {
    for (std::size_t k = 0; k < kStatistics; ++k) {
      EXPECT_NEAR(done.shares.pooled.means(h, k), expected.mean(h, k),
                  1e-5 * std::max(1.0, expected.mean(h, k)))
          << name_of(static_cast<Statistic>(k));
    }
    // Two of the three sequences have keys.
    EXPECT_NEAR(mean_sums(done)[h], sums[h] / 300, 1e-5);
  }
}

TEST(NormStatisticsBitsTest, DoNotDependOnPaddingAndThreads) {
  Case c = small_case();
  const NormStatistics all = run(c);
  for (std::size_t j = 3; j < 150; ++j) {
    for (std::size_t h = 0; h < 3; ++h) {
      c.norms(1, h, j) = j % 2 == 0 ? NAN : 1e30f;
      c.heads.key(1, j, h, 0) = NAN;
    }
  }
  AttentionOptions options = c.heads.options();
  const Executor one = Executor::with_threads(1).value();
  options.executor = &one;
  const NormStatistics again =
      norm_statistics(c.heads.query, c.heads.key, c.norms, options,
                      {.statistics = {.rows = true}})
          .value();
  EXPECT_TRUE(same_bits(again.sums, all.sums));
  EXPECT_TRUE(same_bits(again.shares.rows, all.shares.rows));
}

// The mask has gaps between the keys, so every block of keys has to leave out
// its own.
TEST(NormStatisticsBitsTest, DoNotDependOnNormsOfMaskedKeys) {
  Case c = small_case();
  auto mask = Tensor<bool, 2>::create({150, 150}).value();
  for (std::size_t i = 0; i < 150; ++i) {
    for (std::size_t j = 0; j < 150; ++j) {
      mask(i, j) = i % 2 == 1 || (j != 5 && j != 70);
    }
  }
  AttentionOptions options = c.heads.options();
  options.mask = options.mask & dense<2>(mask, {Axis::Lq, Axis::Lkv});
  const auto with_mask = [&] {
    return norm_statistics(c.heads.query, c.heads.key, c.norms, options,
                           {.statistics = {.rows = true}})
        .value();
  };
  const NormStatistics all = with_mask();
  c.norms(0, 1, 5) = NAN;
  c.norms(0, 1, 70) = NAN;
  const NormStatistics done = with_mask();
  for (std::size_t i = 0; i < 150; ++i) {
    if (i % 2 == 1) {
      EXPECT_TRUE(std::isnan(done.sums(0, i, 1)));
      continue;
    }
    EXPECT_EQ(done.sums(0, i, 1), all.sums(0, i, 1));
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const auto statistic = static_cast<Statistic>(k);
      EXPECT_EQ(done.shares.row(0, 1, i, statistic),
                all.shares.row(0, 1, i, statistic))
          << name_of(statistic);
    }
  }
}

// A value of zeros adds nothing, and a head of them has the attention weights
// as its shares.
TEST(NormStatisticsBitsTest, KeysWithoutANormHaveNoShare) {
  Case c = small_case();
  std::ranges::fill(c.norms.elements(), 0.0f);
  c.norms(1, 0, 1) = 2;
  const NormStatistics done = run(c);
  EXPECT_EQ(done.shares.row(1, 0, 0, Statistic::largest), 1);
  EXPECT_EQ(done.shares.row(1, 0, 1, Statistic::self), 1);
  EXPECT_LT(done.sums(1, 0, 1), 1e-15f);
  EXPECT_NEAR(done.sums(1, 0, 0), 2 * c.heads.weights(1, 0)[0][1], 1e-5);
}

TEST(NormStatisticsBitsTest, CountTheQueriesThatAreAskedFor) {
  const Case c = small_case();
  const auto done = run(c);
  const std::vector<std::int64_t> lengths = {2, 0, 5};
  const double expected = (static_cast<double>(done.sums(0, 0, 1)) +
                           static_cast<double>(done.sums(0, 1, 1))) /
                          2;
  EXPECT_DOUBLE_EQ(mean_sums(done, lengths)[1], expected);
  const std::vector<std::int64_t> none = {0, 0, 5};
  EXPECT_TRUE(std::isnan(mean_sums(done, none)[0]));
}

// The shares are the softmax with ln |f| as a bias, and the weights of values
// 1 / |f| by it are 1 / sums.
TEST_P(NormStatisticsTest, HaveTheBitsOfABiasOfLogarithms) {
  const Case c = small_case(GetParam());
  const auto [B, L, H, D] = c.heads.query.extents();
  auto logarithms = clone(c.norms);
  auto reciprocals = Tensor<float, 4>::create({B, L, H, 1}).value();
  for (std::size_t n = 0; n < B * H * L; ++n) {
    const float norm = c.norms.data()[n];
    logarithms.data()[n] =
        static_cast<float>(std::log(static_cast<double>(norm)));
    reciprocals(n / (H * L), n % L, n / L % H, 0) = 1 / norm;
  }
  auto output = Tensor<float, 4>::create({B, L, H, 1}).value();
  AttentionOptions options = c.heads.options();
  options.bias = dense<3>(logarithms, {Axis::B, Axis::H, Axis::Lkv});
  const auto expected =
      attention_statistics(c.heads.query, c.heads.key, reciprocals,
                           {.output = output.view()}, options,
                           {.statistics = {.rows = true, .top_keys = 3}})
          .value();
  const auto done =
      norm_statistics(c.heads.query, c.heads.key, c.norms, c.heads.options(),
                      {.statistics = {.top_keys = 3}})
          .value();
  EXPECT_TRUE(same_bits(done.shares.rows, expected.rows));
  EXPECT_TRUE(same_bits(done.shares.pooled.means, expected.pooled.means));
  EXPECT_TRUE(same_bits(done.shares.top_weights, expected.top_weights));
  for (std::size_t n = 0; n < output.size(); ++n) {
    const float mean = output.data()[n];
    ASSERT_EQ(done.sums.data()[n], mean == 0 ? 0 : 1 / mean);
  }
}

// ---- Everything that attention() takes. ----

Tensor<float, 3> norms_for(const EveryCall& call) {
  return uniform<3>({call.shape.B, call.shape.Hq, call.shape.Lkv}, 310, 0.1, 3);
}

double entropy_of(const std::vector<double>& shares) {
  double sum = 0;
  for (const double share : shares) {
    sum -= share == 0 ? 0 : share * std::log(share);
  }
  return sum;
}

TEST(EveryNormStatisticsTest, AreThoseOfWeightsTimesNorms) {
  for (const EveryCall& call : every_call()) {
    const auto norms = norms_for(call);
    const auto [B, H, L] = norms.extents();
    for (const OptionsCase& c : call.cases()) {
      const auto weights = call.weights(c);
      const auto done = norm_statistics(call.in.query, call.in.key, norms,
                                        c.options, c.operation_options)
                            .value();
      for (std::size_t row = 0; row < B * H * call.shape.Lq; ++row) {
        const std::size_t b = row / (H * call.shape.Lq);
        const std::size_t h = row / call.shape.Lq % H;
        const std::size_t i = row % call.shape.Lq;
        std::vector<double> shares(L);
        double sum = 0;
        for (std::size_t j = 0; j < L; ++j) {
          shares[j] = weights(b, h, i, j) * static_cast<double>(norms(b, h, j));
          sum += shares[j];
        }
        ASSERT_NEAR(done.sums(b, i, h), sum, 1e-5) << c.name;
        for (double& share : shares) {
          share /= sum;
        }
        if (sum == 0) {
          ASSERT_TRUE(std::isnan(done.shares.row(b, h, i, Statistic::entropy)));
          continue;
        }
        ASSERT_NEAR(done.shares.row(b, h, i, Statistic::entropy),
                    entropy_of(shares), 1e-5)
            << c.name;
        ASSERT_NEAR(done.shares.row(b, h, i, Statistic::largest),
                    std::ranges::max(shares), 1e-5)
            << c.name;
      }
    }
  }
}

void expect_same(const AttentionStatistics& got,
                 const AttentionStatistics& want, const std::string& name) {
  EXPECT_TRUE(same_bits(got.rows, want.rows)) << name;
  EXPECT_TRUE(same_bits(got.pooled.means, want.pooled.means)) << name;
  EXPECT_TRUE(
      std::ranges::equal(got.top_keys.elements(), want.top_keys.elements()))
      << name;
  EXPECT_TRUE(same_bits(got.top_weights, want.top_weights)) << name;
}

TEST(AttentionWithNormsTest, HasTheBitsOfBothCalls) {
  for (const EveryCall& call : every_call()) {
    const auto norms = norms_for(call);
    for (const OptionsCase& c : call.cases()) {
      const Outputs<float> expected =
          attend(call.in, c.options, c.operation_options);
      Outputs<float> out = outputs_for(call.in, c.options, c.operation_options);
      const auto done = attention_with_norms(
                            {call.in.query, call.in.key, call.in.value}, norms,
                            out.views(), c.options, c.operation_options)
                            .value();
      EXPECT_TRUE(same_bits(out, expected)) << c.name;
      const auto alone = norm_statistics(call.in.query, call.in.key, norms,
                                         c.options, c.operation_options)
                             .value();
      EXPECT_TRUE(same_bits(done.sums, alone.sums)) << c.name;
      EXPECT_TRUE(same_bits(done.shares.rows, alone.shares.rows)) << c.name;
    }
  }
}

TEST(StatisticsWithNormsTest, HaveTheBitsOfEachAlone) {
  const Executor one_thread = Executor::with_threads(1).value();
  for (const EveryCall& call : every_call()) {
    const auto norms = norms_for(call);
    const AttentionInputsOf<float> inputs = {call.in.query, call.in.key,
                                             call.in.value};
    for (OptionsCase& c : call.cases()) {
      c.operation_options.statistics = {.rows = true, .top_keys = 3};
      Outputs<float> expected =
          outputs_for(call.in, c.options, c.operation_options);
      const auto weights =
          attention_statistics(inputs.query, inputs.key, inputs.value,
                               expected.views(), c.options, c.operation_options)
              .value();
      const auto alone = norm_statistics(inputs.query, inputs.key, norms,
                                         c.options, c.operation_options)
                             .value();
      c.options.executor = &one_thread;
      Outputs<float> out = outputs_for(call.in, c.options, c.operation_options);
      const auto done =
          attention_statistics_with_norms(inputs, norms, out.views(), c.options,
                                          c.operation_options)
              .value();
      EXPECT_TRUE(same_bits(out, expected)) << c.name;
      expect_same(done.weights, weights, c.name);
      expect_same(done.norms.shares, alone.shares, c.name);
      EXPECT_TRUE(same_bits(done.norms.sums, alone.sums)) << c.name;
    }
  }
}

TEST(StatisticsWithNormsTest, HaveTheBitsOfEachInARaggedBatchWithoutValues) {
  const auto query = uniform<4>({1, 200, 4, 8}, 1, -2, 2);
  const auto key = uniform<4>({1, 200, 2, 8}, 2, -2, 2);
  const auto norms = uniform<3>({1, 4, 200}, 3, 0.1, 3);
  const auto separators = coin_tosses<2>({4, 130}, 4, 0.2);
  const TensorView<const float, 4> value(nullptr, {1, 200, 2, 0});
  const AttentionOutputs none = {
      .output = TensorView<float, 4>(nullptr, {1, 200, 4, 0})};
  const AttentionOptions options = {.mask = causal(), .offsets = kOffsets};
  const OperationOptions asked = {.statistics = {.separators = separators}};
  const auto done = attention_statistics_with_norms({query, key, value}, norms,
                                                    none, options, asked)
                        .value();
  const auto alone = norm_statistics(query, key, norms, options, asked).value();
  EXPECT_TRUE(same_bits(done.norms.sums, alone.sums));
  expect_same(done.norms.shares, alone.shares, "ragged");
  OperationOptions with_rows = asked;
  with_rows.statistics.rows = true;
  expect_same(
      done.weights,
      attention_statistics(query, key, value, none, options, with_rows).value(),
      "ragged");
}

TEST(NormStatisticsBitsTest, OfARaggedBatchAreThoseOfItsSequences) {
  const auto query = uniform<4>({1, 200, 4, 8}, 1, -2, 2);
  const auto key = uniform<4>({1, 200, 2, 8}, 2, -2, 2);
  const auto norms = uniform<3>({1, 4, 200}, 3, 0.1, 3);
  const auto all = norm_statistics(query, key, norms,
                                   {.mask = causal(), .offsets = kOffsets}, {})
                       .value();
  ASSERT_EQ(all.sums.extents(), (Extents<3>{1, 200, 4}));
  for (std::size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(kOffsets[s]);
    const auto one_query = sequence_of(query, s);
    const std::size_t L = one_query.extent(1);
    const TensorView<const float, 3> its_norms(norms.data() + first, {1, 4, L},
                                               {800, 200, 1});
    const auto one = norm_statistics(one_query, sequence_of(key, s), its_norms,
                                     {.mask = causal()}, {})
                         .value();
    for (std::size_t i = 0; i < L; ++i) {
      for (std::size_t h = 0; h < 4; ++h) {
        ASSERT_EQ(all.sums(0, first + i, h), one.sums(0, i, h));
        ASSERT_EQ(all.shares.row(0, h, first + i, Statistic::entropy),
                  one.shares.row(0, h, i, Statistic::entropy));
      }
    }
  }
}

TEST(NormStatisticsBitsTest, RefuseWhatDoesNotFit) {
  const Case c = small_case();
  const auto with = [&](const StatisticsOptions& statistics) {
    return norm_statistics(c.heads.query, c.heads.key, c.norms, {},
                           {.statistics = statistics});
  };
  EXPECT_THAT(with({.columns = true}),
              IsError(ErrorCode::unsupported, "statistics.columns"));
  EXPECT_THAT(with({.map = true}),
              IsError(ErrorCode::unsupported, "statistics.map"));
  const auto other = uniform<3>({3, 3, 149}, 1);
  EXPECT_THAT(norm_statistics(c.heads.query, c.heads.key, other, {}, {}),
              IsError(ErrorCode::shape_mismatch, "norms"));
}

TEST(StatisticsWithNormsTest, RefuseWhatDoesNotFit) {
  const Case c = small_case();
  const auto with = [&](TensorView<const float, 3> norms,
                        const StatisticsOptions& statistics) {
    Extents<4> extents = c.heads.query.extents();
    extents[3] = 0;
    const TensorView<float, 4> none(nullptr, extents);
    return attention_statistics_with_norms({c.heads.query, c.heads.key, none},
                                           norms, {.output = none}, {},
                                           {.statistics = statistics});
  };
  EXPECT_THAT(with(c.norms, {.columns = true}),
              IsError(ErrorCode::unsupported, "statistics.columns"));
  EXPECT_THAT(with(c.norms, {.map = true}),
              IsError(ErrorCode::unsupported, "statistics.map"));
  EXPECT_THAT(with(c.norms, {.top_keys = 65}),
              IsError(ErrorCode::invalid_argument, "statistics.top_keys"));
  const auto other = uniform<3>({3, 3, 149}, 1);
  EXPECT_THAT(with(other, {}), IsError(ErrorCode::shape_mismatch, "norms"));
}

}  // namespace
}  // namespace headwise::testing_support
