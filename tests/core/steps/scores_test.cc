#include "headwise/steps/scores.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "headwise/steps/softmax.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Tensor<float, 4> scores_of(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    double scale, const Executor& executor = Executor::default_executor()) {
  auto out = Tensor<float, 4>::create({query.extent(0), query.extent(2),
                                       query.extent(1), key.extent(1)})
                 .value();
  EXPECT_TRUE(scores(query, key, scale, out, executor));
  return out;
}

TEST(ScoresTest, AScoreIsTheScaledProductOfItsQueryAndItsKey) {
  // (B, L, H, D) = (1, 2, 1, 2) and (1, 3, 1, 2)
  const auto query = tensor_of<float, 4>({1, 2, 1, 2}, {1, 2, 3, 4});
  const auto key = tensor_of<float, 4>({1, 3, 1, 2}, {1, 0, 0, 1, 1, -1});
  const auto out = scores_of(query, key, 0.5);
  EXPECT_TRUE(same_bits(
      out,
      tensor_of<float, 4>({1, 1, 2, 3}, {0.5f, 1, -0.5f, 1.5f, 2, -0.5f})));
}

TEST(ScoresTest, TheDefaultScaleIsOneByTheRootOfTheHeadSize) {
  EXPECT_EQ(default_scale(64), 0.125);
  EXPECT_EQ(default_scale(1), 1.0);
  EXPECT_EQ(default_scale(3), 1 / std::sqrt(3.0));
}

TEST(ScoresTest, MatchesDoubleWithGroupedHeads) {
  const auto query = uniform<4>({2, 5, 6, 33}, 1);
  const auto key = uniform<4>({2, 7, 3, 33}, 2);
  auto want = Tensor<double, 4>::create({2, 6, 5, 7}).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 6; ++h) {
      for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 7; ++j) {
          double sum = 0;
          for (std::size_t d = 0; d < 33; ++d) {
            // Two query heads share a key head: 0 0 1 1 2 2.
            sum += double{query(b, i, h, d)} * double{key(b, j, h / 2, d)};
          }
          want(b, h, i, j) = 0.3 * sum;
        }
      }
    }
  }
  EXPECT_TRUE(all_near(scores_of(query, key, 0.3), want, 1e-6));
}

TEST(ScoresTest, TheLayoutAndTheThreadsDoNotShowInTheBits) {
  const auto query = uniform<4>({2, 9, 4, 8}, 3);
  const auto key = uniform<4>({2, 11, 4, 8}, 4);
  const auto want = scores_of(query, key, 0.25);
  // (B, H, L, D) data seen as (B, L, H, D).
  const auto query_bhld = copy_of(as_bhld(view_of(query)));
  const auto key_bhld = copy_of(as_bhld(view_of(key)));
  EXPECT_TRUE(same_bits(
      scores_of(as_blhd(view_of(query_bhld)), as_blhd(view_of(key_bhld)), 0.25),
      want));
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(same_bits(scores_of(query, key, 0.25, executor), want));
  }
}

TEST(ScoresTest, EveryNaNHasTheSameBitsAndStaysInItsOwnScores) {
  auto query = filled<float, 4>({1, 3, 1, 2}, 1);
  const auto key = filled<float, 4>({1, 2, 1, 2}, 1);
  query(0, 0, 0, 0) = std::bit_cast<float>(0xffc12345u);
  query(0, 1, 0, 0) = -kMinusInf;  // inf - inf
  query(0, 1, 0, 1) = kMinusInf;
  const auto out = scores_of(query, key, 1);
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_EQ(bits(out(0, 0, 0, j)), kNaNBits);
    EXPECT_EQ(bits(out(0, 0, 1, j)), kNaNBits);
    EXPECT_EQ(out(0, 0, 2, j), 2);
  }
}

TEST(AdditiveScoresTest, AScoreIsTheWeightedSumOfTangentsOfSums) {
  // (B, L, H, D) = (1, 2, 2, 2) and, for both heads, (1, 2, 1, 2)
  const auto query = tensor_of<float, 4>({1, 2, 2, 2}, {1, 2, 0, 0,  //
                                                        3, 4, -1, 1});
  const auto key = tensor_of<float, 4>({1, 2, 1, 2}, {-1, 0, 0.5f, -2});
  const auto w = tensor_of<float, 2>({2, 2}, {1, 10, -3, 0.25f});
  auto out = filled<float, 4>({1, 2, 2, 2}, 42);
  EXPECT_TRUE(additive_scores(view_of(query), view_of(key), view_of(w), out,
                              Executor::default_executor()));
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        double want = 0;
        for (std::size_t d = 0; d < 2; ++d) {
          want += double{w(h, d)} * std::tanh(double{query(0, i, h, d)} +
                                              double{key(0, j, 0, d)});
        }
        EXPECT_NEAR(out(0, h, i, j), want, 1e-6);
      }
    }
  }
}

TEST(AdditiveScoresTest, TheThreadsDoNotShowInTheBitsAndANaNStays) {
  auto query = uniform<4>({2, 9, 4, 8}, 5);
  const auto key = uniform<4>({2, 11, 2, 8}, 6);
  const auto w = uniform<2>({4, 8}, 7);
  query(1, 3, 2, 5) = std::bit_cast<float>(0xffc12345u);
  auto want = filled<float, 4>({2, 4, 9, 11}, 42);
  EXPECT_TRUE(additive_scores(view_of(query), view_of(key), view_of(w), want,
                              Executor::default_executor()));
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    auto out = filled<float, 4>({2, 4, 9, 11}, 42);
    EXPECT_TRUE(additive_scores(view_of(query), view_of(key), view_of(w), out,
                                executor));
    EXPECT_TRUE(same_bits(out, want));
  }
  for (std::size_t row = 0; row < 2 * 4 * 9; ++row) {
    const bool is_nan = row == (4 + 2) * 9 + 3;
    for (std::size_t j = 0; j < 11; ++j) {
      const float score = want.data()[row * 11 + j];
      EXPECT_EQ(std::isnan(score), is_nan);
      EXPECT_EQ(bits(score) == kNaNBits, is_nan);
    }
  }
}

TEST(SoftcapTest, KeepsScoresBetweenMinusAndPlusSoftcap) {
  const auto scores = tensor_of<float, 4>(
      {1, 1, 1, 7}, {0, 1e-3F, 5, -5, -kMinusInf, kMinusInf, -kNaN});
  auto capped = filled<float, 4>({1, 1, 1, 7}, 42);
  EXPECT_TRUE(apply_softcap(view_of(scores), 2.5, capped,
                            Executor::default_executor()));
  EXPECT_EQ(capped(0, 0, 0, 0), 0);
  EXPECT_NEAR(capped(0, 0, 0, 1), 1e-3, 1e-9);
  EXPECT_NEAR(capped(0, 0, 0, 2), 2.5 * std::tanh(2.0), 1e-6);
  EXPECT_EQ(capped(0, 0, 0, 3), -capped(0, 0, 0, 2));
  EXPECT_EQ(capped(0, 0, 0, 4), 2.5F);
  EXPECT_EQ(capped(0, 0, 0, 5), -2.5F);
  EXPECT_EQ(bits(capped(0, 0, 0, 6)), kNaNBits);
}

}  // namespace
}  // namespace headwise::testing_support
