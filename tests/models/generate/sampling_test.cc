#include "headwise/generate/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "support/errors.h"

namespace headwise::testing_support {
namespace {

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 2.0f, 1.0f};

std::map<TokenId, double> shares(const Sampling& sampling) {
  constexpr int kDraws = 40000;
  std::map<TokenId, double> found;
  for (int n = 0; n < kDraws; ++n) {
    found[next_token(kLogits, sampling,
                     {.stream = 3, .step = static_cast<std::uint64_t>(n)})
              .value()] += 1.0 / kDraws;
  }
  return found;
}

// exp(logit / temperature) of these ids, divided by their sum.
void expect_shares(const Sampling& sampling, const std::vector<TokenId>& ids) {
  std::map<TokenId, double> wanted;
  double sum = 0;
  for (const TokenId id : ids) {
    wanted[id] =
        std::exp(static_cast<double>(kLogits[static_cast<std::size_t>(id)]) /
                 sampling.temperature);
    sum += wanted[id];
  }
  const auto found = shares(sampling);
  EXPECT_EQ(found.size(), ids.size());
  for (const auto& [id, share] : wanted) {
    EXPECT_NEAR(found.at(id), share / sum, 0.01) << id;
  }
}

TEST(SamplingTest, WithoutATemperatureTheLikeliestIsChosenTheLowerIdFirst) {
  EXPECT_EQ(next_token(kLogits).value(), 1);
  const std::vector<float> masked = {-HUGE_VALF, -3.0f, -HUGE_VALF};
  EXPECT_EQ(next_token(masked).value(), 1);
}

TEST(SamplingTest, SharesAreThoseOfTheSoftmax) {
  expect_shares({.temperature = 1}, {0, 1, 2, 3, 4});
  expect_shares({.temperature = 0.5, .seed = Seed{9}}, {0, 1, 2, 3, 4});
  expect_shares({.temperature = 1, .top_k = 3}, {1, 3, 4});
  // 0.36 and 0.36 and 0.13 of all.
  expect_shares({.temperature = 1, .top_p = 0.7}, {1, 3});
  expect_shares({.temperature = 1, .top_p = 0.8}, {1, 3, 4});
  // The second is of the first.
  expect_shares({.temperature = 1, .top_k = 2, .top_p = 0.6}, {1, 3});
  expect_shares({.temperature = 1, .top_p = 0.1}, {1});
}

TEST(SamplingTest, ADrawDependsOnSeedStreamAndStep) {
  const auto draws = [](std::uint64_t seed, std::uint32_t stream) {
    std::vector<TokenId> drawn;
    for (std::uint64_t step = 0; step < 50; ++step) {
      drawn.push_back(next_token(kLogits,
                                 {.temperature = 2, .seed = Seed{seed}},
                                 {stream, step})
                          .value());
    }
    return drawn;
  };
  EXPECT_EQ(draws(1, 0), draws(1, 0));
  EXPECT_NE(draws(1, 0), draws(2, 0));
  EXPECT_NE(draws(1, 0), draws(1, 1));
}

TEST(SamplingTest, ProbabilitiesAreLogarithms) {
  double sum = 0;
  for (TokenId id = 0; id < 5; ++id) {
    sum += std::exp(log_probability(kLogits, id));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(log_probability(std::vector<float>{1e4f, 1e4f}, 0),
              -std::log(2.0), 1e-12);
}

TEST(SamplingTest, RefusesWhatIsNoDistribution) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double temperature : {-1.0, nan, HUGE_VAL}) {
    EXPECT_THAT(next_token(kLogits, {.temperature = temperature}),
                HasError({.code = ErrorCode::invalid_argument,
                          .argument = "temperature"}));
  }
  for (const double top_p : {0.0, 1.5, nan}) {
    EXPECT_THAT(
        next_token(kLogits, {.temperature = 1, .top_p = top_p}),
        HasError({.code = ErrorCode::invalid_argument, .argument = "top_p"}));
  }
  for (const std::vector<float>& logits : {std::vector<float>{},
                                           {1.0f, std::nanf("")},
                                           {1.0f, HUGE_VALF},
                                           {-HUGE_VALF}}) {
    EXPECT_THAT(
        next_token(logits),
        HasError({.code = ErrorCode::invalid_argument, .argument = "logits"}));
  }
}

}  // namespace
}  // namespace headwise::testing_support
