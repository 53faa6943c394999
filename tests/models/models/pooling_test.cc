#include "models/pooling.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/encoder_contract.h"
#include "models/pooling_reference.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// The first row of `hidden`, normalized.
std::vector<float> normalized(const Tensor<float, 2>& hidden) {
  std::vector<float> embedding = pool(hidden, std::array{Pooling::cls});
  divide_by_length(embedding);
  return embedding;
}

// d_hidden of d_embedding, into memory that holds NaN.
Tensor<float, 2> back(const Tensor<float, 2>& hidden,
                      const std::vector<Pooling>& pooling, bool normalize,
                      const std::vector<float>& d_embedding) {
  auto d_hidden =
      filled<float, 2>(hidden.extents(), std::bit_cast<float>(kNaNBits));
  pool_backward(hidden, pooling,
                normalize
                    ? back_through_length(pool(hidden, pooling), d_embedding)
                    : d_embedding,
                d_hidden);
  return d_hidden;
}

// The slope of sum d_embedding * embedding along one number of `hidden`.
double slope(std::vector<std::vector<double>> hidden,
             const std::vector<Pooling>& pooling, bool normalize,
             const std::vector<float>& d_embedding, std::size_t t,
             std::size_t e) {
  constexpr double kStep = 1e-6;
  const auto loss_at = [&](double x) {
    hidden[t][e] = x;
    const auto embedding = pooled(hidden, pooling, normalize);
    double loss = 0;
    for (std::size_t n = 0; n < embedding.size(); ++n) {
      loss += embedding[n] * static_cast<double>(d_embedding[n]);
    }
    return loss;
  };
  const double x = hidden[t][e];
  return (loss_at(x + kStep) - loss_at(x - kStep)) / (2 * kStep);
}

TEST(PoolingTest, TheSquaresAreSummedInSixteenParts) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto hidden = uniform<2>({1, E}, 60);
    const float squares = contract_sum(
        E, [&](std::size_t i) { return hidden(0, i) * hidden(0, i); });
    std::vector<float> expected;
    for (const float x : hidden.elements()) {
      expected.push_back(x / std::sqrt(squares));
    }
    EXPECT_TRUE(same_bits(normalized(hidden), expected)) << E << " elements";
  }
}

TEST(PoolingTest, AVectorOfAlmostNoLengthIsDividedByTheLeast) {
  const auto short_one = tensor_of<float, 2>({1, 3}, {3e-13f, 0, -4e-13f});
  EXPECT_TRUE(same_bits(normalized(short_one),
                        std::vector{3e-13f / 1e-12f, 0.0f, -4e-13f / 1e-12f}));
  const auto zeros = tensor_of<float, 2>({1, 3}, {0, 0, 0});
  EXPECT_TRUE(same_bits(normalized(zeros), zeros.elements()));
}

TEST(PoolingTest, TheWayBackIsTheSlopeInDouble) {
  constexpr std::size_t E = 19;
  for (const std::vector<Pooling>& pooling :
       {std::vector{Pooling::cls}, std::vector{Pooling::max},
        std::vector{Pooling::mean}, std::vector{Pooling::mean_sqrt_len},
        std::vector{Pooling::last_token}, std::vector{Pooling::weighted_mean},
        std::vector{Pooling::weighted_mean, Pooling::last_token},
        std::vector{Pooling::max, Pooling::mean},
        std::vector{Pooling::mean_sqrt_len, Pooling::cls}}) {
    for (const std::size_t tokens : {1u, 2u, 5u}) {
      const auto hidden = uniform<2>({tokens, E}, 61);
      const auto d = uniform<1>({pooling.size() * E}, 62);
      const std::vector<float> d_embedding(d.data(), d.data() + d.size());
      std::vector<std::vector<double>> rows;
      for (std::size_t t = 0; t < tokens; ++t) {
        rows.emplace_back(&hidden(t, 0), &hidden(t, 0) + E);
      }
      for (const bool normalize : {false, true}) {
        const auto got = back(hidden, pooling, normalize, d_embedding);
        for (std::size_t t = 0; t < tokens; ++t) {
          for (std::size_t e = 0; e < E; ++e) {
            EXPECT_NEAR(got(t, e),
                        slope(rows, pooling, normalize, d_embedding, t, e),
                        1e-6)
                << tokens << " tokens, token " << t << ", feature " << e
                << (normalize ? ", normalized" : "");
          }
        }
      }
    }
  }
}

TEST(PoolingTest, AMaximumOfTwoTokensIsTheFirstOnes) {
  const auto hidden = tensor_of<float, 2>({3, 2}, {-1, 5, 2, 5, 2, 4});
  EXPECT_TRUE(same_bits(back(hidden, {Pooling::max}, false, {7, 8}),
                        tensor_of<float, 2>({3, 2}, {0, 8, 7, 0, 0, 0})));
}

TEST(PoolingTest, TheWayBackThroughTheLengthSumsInSixteenParts) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto hidden = uniform<2>({1, E}, 63);
    const auto d = uniform<1>({E}, 64);
    const float length = std::sqrt(contract_sum(
        E, [&](std::size_t i) { return hidden(0, i) * hidden(0, i); }));
    const float along = contract_sum(
        E, [&](std::size_t i) { return hidden(0, i) / length * d(i); });
    std::vector<float> expected;
    for (std::size_t e = 0; e < E; ++e) {
      expected.push_back((d(e) - hidden(0, e) / length * along) / length);
    }
    EXPECT_TRUE(same_bits(
        back(hidden, {Pooling::cls}, true, {d.data(), d.data() + E}).elements(),
        expected))
        << E << " elements";
  }
}

TEST(PoolingTest, OfAVectorOfAlmostNoLengthTheGradientIsDividedByTheLeast) {
  const std::vector<float> d = {1, -2, 3};
  const std::vector<float> divided = {1 / 1e-12f, -2 / 1e-12f, 3 / 1e-12f};
  for (const auto& values :
       {std::vector{3e-13f, 0.0f, -4e-13f}, std::vector{0.0f, 0.0f, 0.0f}}) {
    const auto hidden = tensor_of<float, 2>({1, 3}, values);
    EXPECT_TRUE(
        same_bits(back(hidden, {Pooling::cls}, true, d).elements(), divided));
  }
  // A little more of it, along the first axis: no gradient along that.
  const auto longer = tensor_of<float, 2>({1, 3}, {2e-12f, 0, 0});
  EXPECT_TRUE(same_bits(back(longer, {Pooling::cls}, true, d).elements(),
                        std::vector{0.0f, -2 / 2e-12f, 3 / 2e-12f}));
}

}  // namespace
}  // namespace headwise::testing_support
