#include "headwise/steps/softmax.h"

#include <cmath>
#include <numeric>
#include <span>

#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Softmax {
  Tensor<float, 4> attn_weights;
  Tensor<float, 3> lse;
};

Softmax softmax_of(TensorView<const float, 4> masked_scores,
                   EmptyRow empty_rows = EmptyRow::zero,
                   const Executor& executor = Executor::default_executor()) {
  const auto [B, Hq, Lq, Lkv] = masked_scores.extents();
  Softmax out{filled<float, 4>({B, Hq, Lq, Lkv}, 42),
              filled<float, 3>({B, Hq, Lq}, 42)};
  EXPECT_TRUE(
      softmax(masked_scores, empty_rows, out.attn_weights, out.lse, executor));
  return out;
}

// One row of scores.
Softmax softmax_of(const std::vector<float>& row,
                   EmptyRow empty_rows = EmptyRow::zero) {
  const auto scores = tensor_of<float, 4>({1, 1, 1, row.size()}, row);
  return softmax_of(scores, empty_rows);
}

TEST(SoftmaxTest, WeightsAndLogSumExpMatchDoubleForEveryNumberOfKeys) {
  for (std::size_t keys = 1; keys <= 260; ++keys) {
    const auto scores = uniform<4>({1, 1, 1, keys}, 5, -8, 8);
    const Softmax out = softmax_of(scores);
    double sum = 0;
    for (const float s : scores.elements()) {
      sum += std::exp(double{s});
    }
    for (std::size_t j = 0; j < keys; ++j) {
      const double want = std::exp(double{scores(0, 0, 0, j)}) / sum;
      ASSERT_NEAR(out.attn_weights(0, 0, 0, j) / want, 1, 5e-6)
          << "key " << j << " of " << keys;
    }
    ASSERT_NEAR(out.lse(0, 0, 0), std::log(sum), 2e-6) << keys << " keys";
  }
}

TEST(SoftmaxTest, EveryRowSumsToOne) {
  const auto scores = uniform<4>({2, 3, 5, 200}, 6, -20, 20);
  const Softmax out = softmax_of(scores);
  for (std::size_t row = 0; row < 30; ++row) {
    const std::span<const float> weights(out.attn_weights.data() + row * 200,
                                         200);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 2e-6);
    EXPECT_THAT(weights, Each(testing::Ge(0.0f)));
  }
}

TEST(SoftmaxTest, AMaskedKeyHasTheWeightZeroAndTheOthersShareTheRest) {
  const Softmax out = softmax_of({kMinusInf, 1, kMinusInf, 1});
  EXPECT_THAT(out.attn_weights.elements(), ElementsAre(0, 0.5f, 0, 0.5f));
  EXPECT_NEAR(out.lse(0, 0, 0), 1 + std::log(2), 1e-6);
}

TEST(SoftmaxTest, OneKeyHasTheWeightOneAndItsScoreAsLogSumExp) {
  const Softmax out = softmax_of({-3.25f});
  EXPECT_EQ(out.attn_weights(0, 0, 0, 0), 1);
  EXPECT_EQ(out.lse(0, 0, 0), -3.25f);
}

TEST(SoftmaxTest, ScoresUpTo2e38AreLegal) {
  const Softmax out = softmax_of({2e38f, 2e38f, -2e38f, kMinusInf});
  EXPECT_THAT(out.attn_weights.elements(), ElementsAre(0.5f, 0.5f, 0, 0));
  EXPECT_EQ(out.lse(0, 0, 0), 2e38f);
  const Softmax low = softmax_of({-2e38f, -2e38f});
  EXPECT_THAT(low.attn_weights.elements(), ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(low.lse(0, 0, 0), -2e38f);
}

TEST(SoftmaxTest, RowThatAttendsToNothingIsZeroNotNaN) {
  const Softmax out = softmax_of({kMinusInf, kMinusInf, kMinusInf, kMinusInf});
  EXPECT_THAT(out.attn_weights.elements(), Each(0.0f));
  EXPECT_EQ(out.lse(0, 0, 0), kMinusInf);
}

TEST(SoftmaxTest, RowThatAttendsToNothingMayBeUniform) {
  const Softmax out = softmax_of({kMinusInf, kMinusInf, kMinusInf, kMinusInf},
                                 EmptyRow::uniform);
  EXPECT_THAT(out.attn_weights.elements(), Each(0.25f));
  EXPECT_EQ(out.lse(0, 0, 0), kMinusInf);
}

TEST(SoftmaxTest, RowThatAttendsToNothingMayBeNaN) {
  const Softmax out = softmax_of({kMinusInf, kMinusInf}, EmptyRow::nan);
  for (const float weight : out.attn_weights.elements()) {
    EXPECT_EQ(bits(weight), kNaNBits);
  }
  EXPECT_EQ(out.lse(0, 0, 0), kMinusInf);
}

TEST(SoftmaxTest, ARowWithAKeyIsTheSameUnderEveryRuleForEmptyRows) {
  const std::vector<float> row = {1, kMinusInf, 2};
  const Softmax zero = softmax_of(row, EmptyRow::zero);
  for (const EmptyRow other : {EmptyRow::uniform, EmptyRow::nan}) {
    EXPECT_TRUE(
        same_bits(softmax_of(row, other).attn_weights, zero.attn_weights));
  }
}

TEST(SoftmaxTest, ARowWithoutKeysHasTheLogSumExpMinusInfinity) {
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    const auto scores = Tensor<float, 4>::create({1, 1, 2, 0}).value();
    const Softmax out = softmax_of(scores, empty_rows);
    EXPECT_THAT(out.lse.elements(), Each(kMinusInf));
  }
}

TEST(SoftmaxTest, NaNOrInfinityMakesItsRowNaNAndNoOther) {
  const auto clean = uniform<4>({1, 2, 3, 5}, 7);
  const Softmax want = softmax_of(clean);
  for (const float poison : {kNaN, -kNaN, -kMinusInf}) {
    auto scores = clean.clone().value();
    scores(0, 1, 1, 2) = poison;
    scores(0, 1, 1, 4) = kMinusInf;  // masked: 0 in a NaN row too
    const Softmax out = softmax_of(scores);
    EXPECT_EQ(bits(out.lse(0, 1, 1)), kNaNBits);
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (h == 1 && i == 1) {
          for (std::size_t j = 0; j < 4; ++j) {
            EXPECT_EQ(bits(out.attn_weights(0, h, i, j)), kNaNBits);
          }
          EXPECT_EQ(bits(out.attn_weights(0, h, i, 4)), 0u);
          continue;
        }
        EXPECT_TRUE(same_bits(std::span(&out.attn_weights(0, h, i, 0), 5),
                              std::span(&want.attn_weights(0, h, i, 0), 5)));
        EXPECT_EQ(bits(out.lse(0, h, i)), bits(want.lse(0, h, i)));
      }
    }
  }
}

TEST(SoftmaxTest, TheLayoutAndTheThreadsDoNotShowInTheBits) {
  const auto scores = uniform<4>({2, 3, 9, 31}, 8, -4, 4);
  const Softmax want = softmax_of(scores);
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    const Softmax out = softmax_of(scores, EmptyRow::zero, executor);
    EXPECT_TRUE(same_bits(out.attn_weights, want.attn_weights));
    EXPECT_TRUE(same_bits(out.lse, want.lse));
  }
  // Keys three elements apart.
  auto wide = filled<float, 4>({2, 3, 9, 93}, kNaN);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    wide.data()[3 * i] = scores.data()[i];
  }
  const TensorView<const float, 4> strided(wide.data(), scores.extents(),
                                           {2511, 837, 93, 3});
  EXPECT_TRUE(same_bits(softmax_of(strided).attn_weights, want.attn_weights));
}

}  // namespace
}  // namespace headwise::testing_support
