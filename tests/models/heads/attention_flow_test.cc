#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "heads/plain_heads.h"
#include "headwise/heads/rollout.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

// Done by hand, with the weights of RolloutTest.IsWhatThreeTokensGiveByHand:
//   M_1 = (1 0 0; 1/4 3/4 0; 1/4 1/8 5/8), M_2 = (1 0 0; 1/8 7/8 0; 1/8 1/4
//   5/8)
// From token 2 the middle tokens get at most 1/8, 1/4 and 5/8, and pass on
//   to 0:  min(1/8, 1) + min(1/4, 1/4) + min(5/8, 1/4) = 5/8
//   to 1:  0 + min(1/4, 3/4) + min(5/8, 1/8) = 3/8
//   to 2:  0 + 0 + min(5/8, 5/8) = 5/8
TEST(AttentionFlowTest, IsWhatThreeTokensGiveByHand) {
  const auto weights =
      tensor_of<float, 3>({2, 3, 3}, {1, 0, 0, 0.5, 0.5, 0, 0.5, 0.25, 0.25,  //
                                      1, 0, 0, 0.25, 0.75, 0, 0.25, 0.5, 0.25});
  const auto flow = attention_flow(weights, 2).value();
  EXPECT_DOUBLE_EQ(flow(0), 5.0 / 8);
  EXPECT_DOUBLE_EQ(flow(1), 3.0 / 8);
  EXPECT_DOUBLE_EQ(flow(2), 5.0 / 8);
}

// The smallest cut: of all ways to put the tokens between layers on the side of
// the source or of the sink. It is the maximum flow.
double smallest_cut(const Tensor<float, 3>& weights, std::size_t from,
                    std::size_t to) {
  const std::size_t N = weights.extent(0);
  const std::size_t L = weights.extent(1);
  double smallest = std::numeric_limits<double>::infinity();
  // The outermost tokens other than source and sink pass nothing on.
  const std::size_t inner = (N - 1) * L;
  for (std::size_t sides = 0; sides < std::size_t{1} << inner; ++sides) {
    const auto with_source = [&](std::size_t l, std::size_t i) {
      if (l == N) {
        return i == from;
      }
      return l != 0 && (sides >> ((l - 1) * L + i) & 1) != 0;
    };
    double cut = 0;
    for (std::size_t n = 0; n < N; ++n) {
      for (std::size_t i = 0; i < L; ++i) {
        double sum = 1;
        for (std::size_t j = 0; j < L; ++j) {
          sum += static_cast<double>(weights(n, i, j));
        }
        for (std::size_t j = 0; j < L; ++j) {
          const bool into_sink = n == 0 ? j == to : !with_source(n, j);
          if (with_source(n + 1, i) && into_sink) {
            cut += (static_cast<double>(weights(n, i, j)) + (i == j ? 1 : 0)) /
                   sum;
          }
        }
      }
    }
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

TEST(AttentionFlowTest, IsTheSmallestCut) {
  for (std::uint32_t stream = 0; stream < 20; ++stream) {
    auto weights = uniform<3>({4, 3, 3}, stream, -0.3, 1);
    for (float& weight : weights.elements()) {
      weight = std::max(weight, 0.0f);
    }
    for (std::size_t from = 0; from < 3; ++from) {
      const auto flow = attention_flow(weights, from).value();
      for (std::size_t to = 0; to < 3; ++to) {
        EXPECT_NEAR(flow(to), smallest_cut(weights, from, to), 1e-9);
      }
    }
  }
}

TEST(AttentionFlowTest, DoesNotDependOnThreads) {
  const auto weights = uniform<3>({4, 30, 30}, 1, 0, 1);
  const Executor one = Executor::with_threads(1).value();
  const auto flow = attention_flow(weights, 7).value();
  const auto again = attention_flow(weights, 7, one).value();
  EXPECT_TRUE(std::ranges::equal(flow.elements(), again.elements()));
}

TEST(AttentionFlowTest, RefusesWhatIsNoAttention) {
  auto weights = uniform<3>({2, 3, 3}, 1, 0, 1);
  EXPECT_THAT(attention_flow(weights, 3),
              IsError(ErrorCode::out_of_range, "token"));
  const auto wide = uniform<3>({2, 3, 4}, 1, 0, 1);
  EXPECT_THAT(attention_flow(wide, 0),
              IsError(ErrorCode::shape_mismatch, "weights"));
  const auto large = filled<float, 3>({1, 129, 129}, 0.1f);
  EXPECT_THAT(attention_flow(large, 0),
              HasError({.code = ErrorCode::unsupported,
                        .argument = "weights",
                        .given = {"129"},
                        .expected = {"128"}}));
  for (const float bad : {NAN, -0.1f, INFINITY}) {
    weights(1, 2, 0) = bad;
    EXPECT_THAT(attention_flow(weights, 0),
                IsError(ErrorCode::out_of_range, "weights[1, 2, 0]"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
