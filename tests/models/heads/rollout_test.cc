#include "headwise/heads/rollout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heads/every_call.h"
#include "heads/plain_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

// Queries and keys of one head whose attention weights are these: with D = L
// and keys of the unit vectors, the scores are the queries.
struct GivenWeights {
  explicit GivenWeights(const PlainMatrix& weights) {
    const std::size_t L = weights.size();
    query = Tensor<float, 4>::create({1, L, 1, L}).value();
    key = Tensor<float, 4>::create({1, L, 1, L}).value();
    for (std::size_t i = 0; i < L; ++i) {
      key(0, i, 0, i) = 1;
      for (std::size_t j = 0; j < L; ++j) {
        query(0, i, 0, j) = static_cast<float>(std::log(weights[i][j]));
      }
    }
  }
  ComparedHeads heads() const { return {query, key}; }

  Tensor<float, 4> query;
  Tensor<float, 4> key;
};

// Done by hand:
//   A_1 = (1 0 0; 1/2 1/2 0; 1/2 1/4 1/4)   (in place of 0: 1e-30)
//   M_1 = (A_1 + I) / 2 = (1 0 0; 1/4 3/4 0; 1/4 1/8 5/8)
//   A_2 = (1 0 0; 1/4 3/4 0; 1/4 1/2 1/4)
//   M_2 = (1 0 0; 1/8 7/8 0; 1/8 1/4 5/8)
//   row 2 of M_2 M_1 = 1/8 (1 0 0) + 1/4 (1/4 3/4 0) + 5/8 (1/4 1/8 5/8)
//                    = (11/32, 17/64, 25/64)
TEST(RolloutTest, IsWhatThreeTokensGiveByHand) {
  constexpr double k0 = 1e-30;
  const GivenWeights first({{1, k0, k0}, {0.5, 0.5, k0}, {0.5, 0.25, 0.25}});
  const GivenWeights second({{1, k0, k0}, {0.25, 0.75, k0}, {0.25, 0.5, 0.25}});
  const std::vector<ComparedHeads> layers = {first.heads(), second.heads()};
  const auto rows = tensor_of<float, 3>({1, 2, 3}, {0, 0, 1, 0, 1, 0});
  const auto done = rollout(layers, rows, {.scale = 1}).value();
  EXPECT_NEAR(done(0, 0, 0), 11.0 / 32, 1e-6);
  EXPECT_NEAR(done(0, 0, 1), 17.0 / 64, 1e-6);
  EXPECT_NEAR(done(0, 0, 2), 25.0 / 64, 1e-6);
  EXPECT_NEAR(done(0, 1, 0), 1.0 / 8 + 7.0 / 32, 1e-6);
  EXPECT_NEAR(done(0, 1, 1), 21.0 / 32, 1e-6);
  EXPECT_NEAR(done(0, 1, 2), 0, 1e-6);
}

class RolloutOfModelTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Causal, RolloutOfModelTest, testing::Bool());

TEST_P(RolloutOfModelTest, IsTheProductOfTheMatrices) {
  constexpr std::size_t L = 70;
  std::vector<PlainBatch> batches;
  for (std::size_t n = 0; n < 3; ++n) {
    batches.push_back(plain_batch({L, 9}, L, 2 + n, 8, 8, GetParam()));
  }
  const TensorView<const float, 4> no_heads(nullptr, {2, L, 0, 8});
  const std::vector<ComparedHeads> layers = {
      {batches[0].query, batches[0].key},
      {no_heads, no_heads},  // all were pruned
      {batches[1].query, batches[1].key},
      {batches[2].query, batches[2].key}};
  const auto rows = uniform<3>({2, 5, L}, 9, 0, 1);
  const auto done = rollout(layers, rows, batches[0].options()).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t r = 0; r < 5; ++r) {
      std::vector<double> passed(L);
      for (std::size_t i = 0; i < L; ++i) {
        passed[i] = static_cast<double>(rows(b, r, i));
      }
      for (std::size_t n = 3; n-- > 0;) {
        const std::size_t H = batches[n].query.extent(2);
        std::vector<double> next(L);
        for (std::size_t h = 0; h < H; ++h) {
          const PlainMatrix weights = batches[n].weights(b, h);
          for (std::size_t i = 0; i < L; ++i) {
            next[i] += passed[i] / static_cast<double>(2 * H);
            for (std::size_t j = 0; j < L; ++j) {
              next[j] += passed[i] * weights[i][j] / static_cast<double>(2 * H);
            }
          }
        }
        passed = next;
      }
      for (std::size_t j = 0; j < L; ++j) {
        ASSERT_NEAR(done(b, r, j), passed[j], 1e-5);
      }
    }
  }
}

// Query 0 sees no key: it keeps its token. With a sink the rest is divided.
TEST(RolloutTest, KeepsTheSumOfARow) {
  const auto heads = plain_batch({6}, 6, 2, 8, 8);
  const std::vector<ComparedHeads> layers(3, {heads.query, heads.key});
  const auto rows = tensor_of<float, 3>({1, 1, 6}, {1, 0, 0, 0, 0, 0});
  auto mask = filled<bool, 2>({6, 6}, true);
  for (std::size_t j = 0; j < 6; ++j) {
    mask(0, j) = false;
  }
  const auto kept =
      rollout(layers, rows, {.mask = dense<2>(mask, {Axis::Lq, Axis::Lkv})})
          .value();
  EXPECT_EQ(kept(0, 0, 0), 1);
  EXPECT_EQ(kept(0, 0, 3), 0);
  const auto sinks = filled<float, 1>({2}, 1);
  const auto divided = rollout(layers, rows, {.sinks = sinks}).value();
  float sum = 0;
  for (const float share : divided.elements()) {
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(RolloutTest, BitsDoNotDependOnPaddingAndThreads) {
  auto heads = plain_batch({100, 20}, 100, 3, 8, 8);
  const auto rows = uniform<3>({2, 3, 100}, 9, 0, 1);
  const auto run = [&](const Executor* executor) {
    AttentionOptions options = heads.options();
    options.executor = executor;
    const std::vector<ComparedHeads> layers(2, {heads.query, heads.key});
    return rollout(layers, rows, options).value();
  };
  const auto all = run(nullptr);
  for (std::size_t j = 20; j < 100; ++j) {
    heads.key(1, j, 2, 0) = NAN;
  }
  const Executor one = Executor::with_threads(1).value();
  EXPECT_TRUE(same_bits(run(&one), all));
}

// Two layers with the same weights, whatever the options.
TEST(EveryRolloutTest, IsTheProductOfTheMatrices) {
  for (const EveryCall& call : every_call(/*square=*/true)) {
    const auto [B, L, Hq, D] = call.in.query.extents();
    const auto rows = uniform<3>({B, 2, L}, 9, 0, 1);
    const std::vector<ComparedHeads> layers(
        2, {call.in.query, call.in.key, call.groups});
    for (OptionsCase& c : call.cases_of_weights()) {
      const auto weights = call.weights(c);
      c.operation_options.kv_groups = {};  // those of the layers
      const auto done =
          rollout(layers, rows, c.options, c.operation_options).value();
      for (std::size_t row = 0; row < B * 2; ++row) {
        const std::size_t b = row / 2;
        std::vector<double> passed(L);
        for (std::size_t i = 0; i < L; ++i) {
          passed[i] = static_cast<double>(rows(b, row % 2, i));
        }
        for (std::size_t layer = 0; layer < 2; ++layer) {
          std::vector<double> next(L);
          for (std::size_t i = 0; i < L; ++i) {
            std::vector<double> mean(L);
            double sum = 1;
            for (std::size_t pair = 0; pair < Hq * L; ++pair) {
              const double weight =
                  weights(b, pair / L, i, pair % L) / static_cast<double>(Hq);
              mean[pair % L] += weight;
              sum += weight;
            }
            ++mean[i];
            for (std::size_t j = 0; j < L; ++j) {
              next[j] += passed[i] * mean[j] / sum;
            }
          }
          passed = next;
        }
        for (std::size_t j = 0; j < L; ++j) {
          ASSERT_NEAR(done(b, row % 2, j), passed[j], 1e-5) << c.name;
        }
      }
    }
  }
}

TEST(RolloutTest, OfARaggedBatchIsThatOfItsSequences) {
  const auto query = uniform<4>({1, 200, 4, 8}, 1, -2, 2);
  const auto key = uniform<4>({1, 200, 2, 8}, 2, -2, 2);
  const auto rows = uniform<3>({1, 2, 200}, 3, 0, 1);
  const std::vector<ComparedHeads> layers(2, {query, key});
  const auto all =
      rollout(layers, rows, {.mask = causal(), .offsets = kOffsets}).value();
  for (std::size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(kOffsets[s]);
    const std::vector<ComparedHeads> its_layers(
        2, {sequence_of(query, s), sequence_of(key, s)});
    const std::size_t L = its_layers[0].query.extent(1);
    const TensorView<const float, 3> its_rows(rows.data() + first, {1, 2, L},
                                              {400, 200, 1});
    const auto one = rollout(its_layers, its_rows, {.mask = causal()}).value();
    for (std::size_t j = 0; j < 2 * L; ++j) {
      ASSERT_EQ(all(0, j / L, first + j % L), one(0, j / L, j % L));
    }
  }
}

TEST(RolloutTest, RefusesLayersThatDoNotFit) {
  const auto heads = plain_batch({6}, 6, 2, 8, 8);
  const std::vector<ComparedHeads> layers = {{heads.query, heads.key}};
  const auto rows = uniform<3>({1, 1, 6}, 1);
  const auto short_rows = uniform<3>({1, 1, 5}, 1);
  EXPECT_THAT(rollout({}, rows),
              IsError(ErrorCode::invalid_argument, "layers"));
  EXPECT_THAT(rollout(layers, short_rows),
              IsError(ErrorCode::shape_mismatch, "layers[0].query"));
}

}  // namespace
}  // namespace headwise::testing_support
