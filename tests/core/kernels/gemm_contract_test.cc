// The bits of a projection are those of docs/arithmetic.md, on every
// instruction set with fused multiply-add that this machine has.
#include "kernels/gemm_contract.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "headwise/kernels/targets.h"
#include "headwise/steps/softmax.h"
#include "kernels/gemm_gradient_contract.h"
#include "steps/project.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Linear linear_of(std::size_t in, std::size_t out, bool bias = true) {
  return Linear::create({in, out, bias}, RandomStream(Seed{7}, 1)).value();
}

class GemmContractTest : public TargetTest {};

TEST_P(GemmContractTest, HoldsForEverySizeAroundStripsTilesAndBlocks) {
  for (const std::size_t in : {1u, 7u, 127u, 128u, 129u, 257u, 768u, 1100u}) {
    for (const std::size_t out : {1u, 15u, 16u, 17u, 48u, 64u, 65u, 129u}) {
      const Linear linear = linear_of(in, out);
      for (const std::size_t rows : {1u, 2u, 5u, 6u, 7u, 13u}) {
        const auto x = uniform<3>({1, rows, in}, 10);
        EXPECT_TRUE(same_bits(linear.forward(x.view()).value(),
                              contract_projection(x.view(), linear)))
            << rows << " x " << in << " x " << out;
      }
    }
  }
}

TEST_P(GemmContractTest, HoldsForManyRows) {
  const Linear linear = linear_of(130, 70);
  for (const std::size_t rows : {131u, 132u, 133u, 300u}) {
    const auto x = uniform<3>({1, rows, 130}, 11);
    EXPECT_TRUE(same_bits(linear.forward(x.view()).value(),
                          contract_projection(x.view(), linear)))
        << rows << " rows";
  }
}

TEST_P(GemmContractTest, HoldsForNumbersOfEverySizeWithAndWithoutABias) {
  for (const double range : {1e-36, 1e-20, 1.0, 1e15, 1e37}) {
    for (const bool bias : {false, true}) {
      const Linear linear = linear_of(300, 20, bias);
      const auto x = uniform<3>({1, 9, 300}, 12, -range, range);
      EXPECT_TRUE(same_bits(linear.forward(x.view()).value(),
                            contract_projection(x.view(), linear)))
          << "range " << range << ", bias " << bias;
    }
  }
}

TEST_P(GemmContractTest, ASumThatEndsAsMinusZeroIsPlusZeroBeforeTheBias) {
  // -1e-30 * 1e-30 is flushed to -0.
  const auto x = filled<float, 3>({1, 2, 3}, -1e-30f);
  for (const float bias : {0.0f, -0.0f}) {
    const Linear linear = Linear::from_params(filled<float, 2>({5, 3}, 1e-30f),
                                              filled<float, 1>({5}, bias))
                              .value();
    const auto y = linear.forward(x.view()).value();
    EXPECT_TRUE(same_bits(y, filled<float, 3>({1, 2, 5}, 0.0f)));
  }
}

TEST_P(GemmContractTest, BlocksWhoseSumIsFlushedToMinusZeroArePlusZero) {
  // The second block is the first's negative and one denormal step more.
  auto x = filled<float, 3>({1, 2, 129}, 0.0f);
  auto weight = filled<float, 2>({5, 129}, 0.0f);
  for (std::size_t l = 0; l < 2; ++l) {
    x(0, l, 0) = 1;
    x(0, l, 128) = -1;
  }
  for (std::size_t o = 0; o < 5; ++o) {
    weight(o, 0) = 0x1p-126f;
    weight(o, 128) = 0x1.000002p-126f;
  }
  const Linear linear =
      Linear::from_params(std::move(weight), filled<float, 1>({5}, -0.0f))
          .value();
  EXPECT_TRUE(same_bits(linear.forward(x.view()).value(),
                        filled<float, 3>({1, 2, 5}, 0.0f)));
}

TEST_P(GemmContractTest, HoldsWithNaNsAndInfinities) {
  const Linear linear = linear_of(140, 33);
  auto x = uniform<3>({1, 8, 140}, 13);
  x(0, 1, 3) = kNaN;
  x(0, 3, 139) = -kMinusInf;
  x(0, 5, 0) = kMinusInf;
  x(0, 5, 130) = -kMinusInf;
  EXPECT_TRUE(same_bits(linear.forward(x.view()).value(),
                        contract_projection(x.view(), linear)));
}

TEST_P(GemmContractTest, InBfloat16HoldsForEverySize) {
  for (const std::size_t in :
       {1u, 2u, 7u, 127u, 128u, 129u, 131u, 768u, 2200u}) {
    for (const std::size_t out : {1u, 15u, 16u, 48u, 65u, 129u}) {
      const Linear linear = linear_of(in, out);
      const Linear rounded = linear.in_bf16().value();
      for (const std::size_t rows : {1u, 2u, 5u, 6u, 13u}) {
        const auto x = uniform<3>({1, rows, in}, 10);
        EXPECT_TRUE(
            same_bits(rounded.forward(x.view()).value(),
                      contract_projection(x.view(), linear, Arithmetic::bf16)))
            << rows << " x " << in << " x " << out;
      }
    }
  }
}

// Products and sums that are denormal, and factors that round to infinity.
TEST_P(GemmContractTest, InBfloat16HoldsForNumbersOfEverySize) {
  for (const double range : {1e-38, 1e-20, 1e-18, 1.0, 1e19, 3.4e38}) {
    for (const bool bias : {false, true}) {
      const Linear linear =
          Linear::from_params(uniform<2>({20, 301}, 19, -range, range),
                              bias ? uniform<1>({20}, 20) : Tensor<float, 1>())
              .value();
      const auto x = uniform<3>({1, 9, 301}, 12, -range, range);
      EXPECT_TRUE(
          same_bits(linear.in_bf16().value().forward(x.view()).value(),
                    contract_projection(x.view(), linear, Arithmetic::bf16)))
          << "range " << range << ", bias " << bias;
    }
  }
}

TEST_P(GemmContractTest, InBfloat16HoldsWithNaNsAndInfinities) {
  const Linear linear = linear_of(141, 33);
  auto x = uniform<3>({1, 8, 141}, 13);
  x(0, 1, 3) = kNaN;
  x(0, 2, 140) = kNaN;
  x(0, 3, 139) = -kMinusInf;
  x(0, 5, 0) = kMinusInf;
  x(0, 5, 130) = -kMinusInf;
  x(0, 6, 7) = std::numeric_limits<float>::max();  // infinity, rounded
  x(0, 7, 8) = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(
      same_bits(linear.in_bf16().value().forward(x.view()).value(),
                contract_projection(x.view(), linear, Arithmetic::bf16)));
}

TEST_P(GemmContractTest, InBfloat16HoldsForTheGradients) {
  for (const std::size_t in : {1u, 17u, 64u}) {
    for (const std::size_t out : {1u, 15u, 131u}) {
      const Linear linear = linear_of(in, out).in_bf16().value();
      for (const std::size_t L : {1u, 7u, 130u}) {
        expect_contract_gradients(linear, uniform<3>({2, L, in}, 21),
                                  uniform<3>({2, L, out}, 22),
                                  {{0, 0, L}, {1, 0, L}});
      }
    }
  }
}

TEST_P(GemmContractTest, InBfloat16HoldsForGradientsOfEverySize) {
  for (const double range : {1e-38, 1e-18, 1e19, 3.4e38}) {
    const Linear linear =
        Linear::from_params(uniform<2>({35, 20}, 23, -range, range))
            .value()
            .in_bf16()
            .value();
    const auto x = uniform<3>({1, 9, 20}, 24, -range, range);
    const auto d_y = uniform<3>({1, 9, 35}, 25, -range, range);
    const auto want = contract_gradients(linear, x, d_y, {{0, 0, 9}});
    EXPECT_TRUE(same_bits(linear.backward_input(d_y).value(), want.x));
    EXPECT_TRUE(same_bits(linear.backward_params(x, d_y).value().weight,
                          want.params.weight))
        << "range " << range;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GemmContractTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GemmContractTest);

// Every target, those without fused multiply-add included.
class GemmEveryTargetTest : public TargetTest {};

TEST_P(GemmEveryTargetTest, StaysNearTheSumInDouble) {
  for (const std::size_t in : {1u, 129u, 768u}) {
    const Linear linear = linear_of(in, 37);
    const auto x = uniform<3>({1, 11, in}, 14);
    auto want = Tensor<double, 3>::create({1, 11, 37}).value();
    for (std::size_t l = 0; l < 11; ++l) {
      for (std::size_t o = 0; o < 37; ++o) {
        double sum = linear.bias()(o);
        for (std::size_t i = 0; i < in; ++i) {
          sum += double{x(0, l, i)} * double{linear.weight()(o, i)};
        }
        want(0, l, o) = sum;
      }
    }
    EXPECT_TRUE(all_near(linear.forward(x.view()).value(), want, 1e-6))
        << in << " features";
  }
}

TEST_P(GemmEveryTargetTest, ARowHasItsBitsAloneAndOnAnyNumberOfThreads) {
  // Large enough to be spread.
  const Linear linear = linear_of(257, 193);
  const auto x = uniform<3>({3, 100, 257}, 15);
  const auto want =
      linear.forward(x.view(), "x", Executor::with_threads(1).value()).value();
  for (const std::size_t threads : {2u, 3u, 7u, 16u}) {
    EXPECT_TRUE(same_bits(
        linear.forward(x.view(), "x", Executor::with_threads(threads).value())
            .value(),
        want))
        << threads << " threads";
  }
  for (const std::size_t row : {0u, 65u, 131u, 132u, 299u}) {
    const std::size_t b = row / 100;
    const std::size_t l = row % 100;
    const TensorView<const float, 3> alone(&x(b, l, 0), {1, 1, 257});
    EXPECT_TRUE(same_bits(linear.forward(alone).value().elements(),
                          {&want(b, l, 0), 193}))
        << "row " << row;
  }
}

TEST_P(GemmEveryTargetTest, StridesChangeNoBit) {
  const Linear linear = linear_of(130, 40);
  const auto x = uniform<3>({2, 9, 130}, 16);
  const auto want = linear.forward(x.view()).value();
  auto wide = filled<float, 3>({9, 2, 260}, kNaN);  // backwards, every second
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t l = 0; l < 9; ++l) {
      for (std::size_t i = 0; i < 130; ++i) {
        wide(l, b, 2 * (129 - i)) = x(b, l, i);
      }
    }
  }
  const TensorView<const float, 3> view(&wide(0, 0, 258), {2, 9, 130},
                                        {260, 520, -2});
  EXPECT_TRUE(same_bits(linear.forward(view).value(), want));
}

TEST_P(GemmEveryTargetTest, InBfloat16ARowHasItsBitsWithAnyOthersAndStrides) {
  const Linear linear = linear_of(257, 193).in_bf16().value();
  const auto x = uniform<3>({3, 100, 257}, 15);
  const auto want =
      linear.forward(x.view(), "x", Executor::with_threads(1).value()).value();
  for (const std::size_t threads : {2u, 7u}) {
    EXPECT_TRUE(same_bits(
        linear.forward(x.view(), "x", Executor::with_threads(threads).value())
            .value(),
        want))
        << threads << " threads";
  }
  for (const std::size_t row : {0u, 65u, 131u, 132u, 299u}) {
    const std::size_t b = row / 100;
    const std::size_t l = row % 100;
    auto backwards = filled<float, 1>({2 * 257}, kNaN);  // every second
    for (std::size_t i = 0; i < 257; ++i) {
      backwards(2 * (256 - i)) = x(b, l, i);
    }
    for (const TensorView<const float, 3>& alone :
         {TensorView<const float, 3>(&x(b, l, 0), {1, 1, 257}),
          TensorView<const float, 3>(&backwards(512), {1, 1, 257},
                                     {0, 0, -2})}) {
      EXPECT_TRUE(same_bits(linear.forward(alone).value().elements(),
                            {&want(b, l, 0), 193}))
          << "row " << row;
    }
  }
}

TEST_P(GemmEveryTargetTest, InBfloat16TheNameIsOfTheInstructionsInUse) {
  EXPECT_EQ(bf16_projections().value(),
            native_bf16().value() ? "avx512_bf16" : "emulated");
}

// A factor is rounded by at most 2^-8 of itself, so a product by 2^-7 + 2^-16,
// and the sums are rounded by at most 137 times 2^-24 of what they add.
TEST_P(GemmEveryTargetTest, InBfloat16StaysWithinItsBound) {
  for (const std::size_t in : {1u, 2u, 129u, 768u}) {
    const Linear linear = linear_of(in, 37);
    const Linear rounded = linear.in_bf16().value();
    const auto x = uniform<3>({1, 11, in}, 14);
    const auto got = rounded.forward(x.view()).value();
    double largest = 0;
    for (std::size_t l = 0; l < 11; ++l) {
      for (std::size_t o = 0; o < 37; ++o) {
        double sum = linear.bias()(o);
        double magnitudes = std::abs(sum) * 1e-3;
        for (std::size_t i = 0; i < in; ++i) {
          const double product =
              double{x(0, l, i)} * double{linear.weight()(o, i)};
          sum += product;
          magnitudes += std::abs(product);
        }
        const double error = std::abs(double{got(0, l, o)} - sum);
        EXPECT_LE(error, magnitudes * 0x1.01p-7) << in << " features";
        largest = std::max(largest, error / magnitudes);
      }
    }
    EXPECT_GT(largest, 0x1p-14) << "is rounded, " << in << " features";
  }
}

TEST_P(GemmEveryTargetTest, SideBySideIsTheSameAsOneByOne) {
  const std::array<Linear, 4> linears = {
      linear_of(200, 70), linear_of(200, 33, false), linear_of(200, 1),
      linear_of(200, 40).in_bf16().value()};
  const auto x = uniform<3>({2, 75, 200}, 17);
  for (const std::size_t threads : {1u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    std::vector<Tensor<float, 3>> got;
    std::vector<Projection> projections;
    for (const Linear& linear : linears) {
      got.push_back(filled<float, 3>({2, 75, linear.out_features()}, kNaN));
      projections.push_back({&linear, got.back().view()});
    }
    ASSERT_TRUE(project(x.view(), projections, {}, executor));
    for (std::size_t n = 0; n < linears.size(); ++n) {
      EXPECT_TRUE(same_bits(got[n], linears[n].forward(x.view()).value()))
          << "projection " << n << ", " << threads << " threads";
    }
  }
}

// Tokens from the end on are zero and not read.
void expect_only_tokens_before_the_end(const Linear& linear) {
  auto x = uniform<3>({5, 30, 50}, 18);
  const std::array<std::size_t, 5> ends = {0, 30, 7, 0, 29};
  const auto whole = linear.forward(x.view()).value();
  auto want = filled<float, 3>({5, 30, 20}, 0);
  for (std::size_t b = 0; b < 5; ++b) {
    for (std::size_t l = 0; l < 30; ++l) {
      const bool seen = l < ends[b];
      for (std::size_t i = 0; i < 50; ++i) {
        x(b, l, i) = seen ? x(b, l, i) : kNaN;
      }
      for (std::size_t o = 0; o < 20; ++o) {
        want(b, l, o) = seen ? whole(b, l, o) : 0;
      }
    }
  }
  for (const std::size_t threads : {1u, 3u}) {
    auto got = filled<float, 3>({5, 30, 20}, kNaN);
    ASSERT_TRUE(project(x.view(), std::array{Projection{&linear, got.view()}},
                        ends, Executor::with_threads(threads).value()));
    EXPECT_TRUE(same_bits(got, want)) << threads << " threads";
  }
}

TEST_P(GemmEveryTargetTest, TokensBehindTheEndAreZeroAndNotRead) {
  for (const bool rounded : {false, true}) {
    const Linear linear =
        rounded ? linear_of(50, 20).in_bf16().value() : linear_of(50, 20);
    expect_only_tokens_before_the_end(linear);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GemmEveryTargetTest,
                         testing::ValuesIn(targets()), target_name);

}  // namespace
}  // namespace headwise::testing_support
