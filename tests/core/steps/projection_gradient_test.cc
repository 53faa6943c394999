// The gradients of a projection: docs/arithmetic.md in scalar code, bit by bit.
#include "steps/projection_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "kernels/gemm_gradient_contract.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Linear linear_of(std::size_t in, std::size_t out, Arithmetic arithmetic) {
  const auto exact =
      Linear::create({in, out}, RandomStream(Seed{5}, 1)).value();
  return (arithmetic == Arithmetic::bf16 ? exact.in_bf16() : exact.in_float32())
      .value();
}

class ProjectionGradientTest : public testing::TestWithParam<Arithmetic> {
 protected:
  static Linear linear(std::size_t in, std::size_t out) {
    return linear_of(in, out, GetParam());
  }
};

TEST_P(ProjectionGradientTest, HasTheBitsOfTheContract) {
  for (const auto& [in, out] :
       {std::pair{1u, 1u}, {17u, 5u}, {130u, 50u}, {20u, 129u}, {64u, 257u}}) {
    for (const std::size_t L : {1u, 127u, 129u, 300u}) {
      expect_contract_gradients(linear(in, out), uniform<3>({2, L, in}, 20),
                                uniform<3>({2, L, out}, 21),
                                {{0, 0, L}, {1, 0, L}});
    }
  }
}

TEST_P(ProjectionGradientTest, OfARaggedBatchBeginsItsBlocksAtEachSequence) {
  const auto offsets = tensor_of<std::int64_t, 1>({4}, {0, 131, 131, 290});
  expect_contract_gradients(
      linear(9, 7), uniform<3>({1, 290, 9}, 22), uniform<3>({1, 290, 7}, 23),
      {{0, 0, 131}, {0, 131, 131}, {0, 131, 290}}, offsets);
}

// Its neighbour is in the same pair.
TEST_P(ProjectionGradientTest, LeavesATokenWithoutGradientOutWhateverItHolds) {
  const Linear linear = this->linear(9, 7);
  auto x = uniform<3>({2, 40, 9}, 24);
  auto d_y = uniform<3>({2, 40, 7}, 25);
  std::fill_n(&d_y(1, 29, 0), 11 * 7, 0.0f);
  const auto want = linear.backward_params(x, d_y).value();
  std::fill_n(&x(1, 29, 0), 11 * 9, kNaN);
  const auto got = linear.backward_params(x, d_y).value();
  EXPECT_TRUE(same_bits(got.weight, want.weight));
}

// A padded batch has the bits of the ragged one, on any number of threads.
TEST_P(ProjectionGradientTest, PackingAndThreadsChangeNoBit) {
  const Linear linear = this->linear(40, 150);
  const auto rows = uniform<3>({1, 431, 40}, 28);
  const auto d_rows = uniform<3>({1, 431, 150}, 29);
  const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 301, 431});
  auto x = filled<float, 3>({2, 310, 40}, kNaN);
  auto d_y = filled<float, 3>({2, 310, 150}, 0);
  for (const auto& [b, begin, end] :
       {std::tuple{0u, 0u, 301u}, {1u, 301u, 431u}}) {
    std::copy_n(&rows(0, begin, 0), (end - begin) * 40, &x(b, 0, 0));
    std::copy_n(&d_rows(0, begin, 0), (end - begin) * 150, &d_y(b, 0, 0));
  }
  const auto want = linear.backward_params(rows, d_rows, offsets).value();
  for (const std::size_t threads : {1u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    const auto got = linear.backward_params(x, d_y, {}, executor).value();
    EXPECT_TRUE(same_bits(got.weight, want.weight)) << threads << " threads";
    EXPECT_TRUE(same_bits(got.bias, want.bias)) << threads << " threads";
  }
}

TEST(ProjectionGradientErrorsTest, RefusesShapesThatDoNotFit) {
  const auto linear = Linear::create({9, 7}, RandomStream(Seed{5}, 1)).value();
  const auto x = uniform<3>({2, 4, 9}, 26);
  const auto short_x = uniform<3>({2, 4, 8}, 26);
  const auto d_y = uniform<3>({2, 4, 7}, 27);
  const auto short_d_y = uniform<3>({2, 3, 7}, 27);
  EXPECT_THAT(linear.backward_input(x),
              IsAbout("d_y", "(2, 4, 9)", "(2, 4, 7)"));
  EXPECT_THAT(linear.backward_params(short_x, d_y),
              IsAbout("x", "(2, 4, 8)", "(2, 4, 9)"));
  EXPECT_THAT(linear.backward_params(x, short_d_y),
              IsAbout("d_y", "(2, 3, 7)", "(2, 4, 7)"));
}

TEST_P(ProjectionGradientTest, SomeOutputsHaveTheBitsOfAll) {
  constexpr std::size_t kIn = 21;
  constexpr std::size_t kOut = 60;
  const Linear linear = this->linear(kIn, kOut);
  auto x = uniform<3>({2, 150, kIn}, 1, -1, 1);
  auto d_y = uniform<3>({2, 150, kOut}, 2, -1, 1);
  // A token whose x counts, because of an output that some ranges lack.
  x(0, 3, 5) = INFINITY;
  std::fill_n(&d_y(0, 3, 0), kOut, 0.0f);
  d_y(0, 3, 50) = 1;
  // And one that does not.
  x(1, 7, 2) = INFINITY;
  std::fill_n(&d_y(1, 7, 0), kOut, 0.0f);
  const auto all = linear.backward_params(x, d_y).value();
  std::vector<ProjectionTerms> sequences;
  for (std::size_t b = 0; b < 2; ++b) {
    sequences.push_back(
        {{&x(b, 0, 0), {150, kIn}}, {&d_y(b, 0, 0), {150, kOut}}});
  }
  for (const RowRange rows :
       {RowRange{0, kOut}, {0, 1}, {13, 40}, {49, 2}, {59, 1}, {20, 0}}) {
    const auto weight =
        projection_weight_gradient(sequences, kIn, rows, linear.arithmetic(),
                                   Executor::default_executor())
            .value();
    const auto bias = projection_bias_gradient(sequences, rows).value();
    EXPECT_TRUE(same_bits(bias.elements(),
                          all.bias.elements().subspan(rows.first, rows.count)));
    EXPECT_TRUE(same_bits(
        weight.elements(),
        all.weight.elements().subspan(rows.first * kIn, rows.count * kIn)));
  }
  EXPECT_TRUE(std::isnan(all.weight(0, 5)));
}

INSTANTIATE_TEST_SUITE_P(Arithmetics, ProjectionGradientTest,
                         testing::Values(Arithmetic::exact, Arithmetic::bf16),
                         [](const auto& of) {
                           return std::string(name_of(of.param));
                         });

}  // namespace
}  // namespace headwise::testing_support
