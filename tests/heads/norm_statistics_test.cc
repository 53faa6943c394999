#include "headwise/heads/norm_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "attention/naive_statistics.h"
#include "heads/plain_heads.h"
#include "headwise/heads/value_norms.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing_support::IsError;
using testing_support::NaiveStatistics;
using testing_support::NaiveStatisticsOf;
using testing_support::Outputs;
using testing_support::plain_batch;
using testing_support::plain_head_value;
using testing_support::plain_norm;
using testing_support::PlainBatch;
using testing_support::PlainMatrix;
using testing_support::same_bits;
using testing_support::uniform;

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

TEST(NormStatisticsBitsTest, RefuseWhatHasNoNorms) {
  const Case c = small_case();
  const auto with = [&](const AttentionOptions& options,
                        const OperationOptions& operation = {}) {
    return norm_statistics(c.heads.query, c.heads.key, c.norms, options,
                           operation);
  };
  const auto sinks = uniform<1>({3}, 1);
  const auto bias = uniform<2>({150, 150}, 1);
  EXPECT_THAT(with({.bias = dense<2>(bias, {Axis::Lq, Axis::Lkv})}),
              IsError(ErrorCode::invalid_argument, "bias"));
  EXPECT_THAT(with({.sinks = sinks}), IsError(ErrorCode::unsupported, "sinks"));
  EXPECT_THAT(with({}, {.added_keys = {.zero_attn = true}}),
              IsError(ErrorCode::unsupported, "added_keys"));
  const auto other = uniform<3>({3, 3, 149}, 1);
  EXPECT_THAT(norm_statistics(c.heads.query, c.heads.key, other, {}, {}),
              IsError(ErrorCode::shape_mismatch, "norms"));
}

}  // namespace
}  // namespace headwise
