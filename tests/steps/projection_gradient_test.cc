// The gradients of a projection: docs/arithmetic.md in scalar code, bit by bit.
#include "steps/projection_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::filled;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;

struct Sequence {
  std::size_t b;
  std::size_t begin;
  std::size_t end;
};

// A sum in blocks of 128 of terms(n), each block a chain.
template <class Term>
float in_blocks(std::size_t begin, std::size_t end, float sum,
                const Term& term) {
  for (std::size_t first = begin; first < end; first += 128) {
    float chain = 0;
    for (std::size_t n = first; n < std::min(first + 128, end); ++n) {
      const auto [a, b] = term(n);
      chain = std::fma(a, b, chain);
    }
    sum += chain;
  }
  return sum;
}

void expect_contract(const Linear& linear, const Tensor<float, 3>& x,
                     const Tensor<float, 3>& d_y,
                     const std::vector<Sequence>& sequences,
                     TensorView<const std::int64_t, 1> offsets = {}) {
  const auto d_x = linear.backward_input(d_y).value();
  const auto params = linear.backward_params(x, d_y, offsets).value();
  const FloatEnvironment environment;
  const std::size_t in = linear.in_features();
  const std::size_t out = linear.out_features();
  auto want_x = Tensor<float, 3>::create(x.extents()).value();
  auto want = Tensor<float, 2>::create({out, in}).value();
  auto want_bias = filled<float, 1>({out}, 0);
  for (const Sequence& s : sequences) {
    for (std::size_t l = s.begin; l < s.end; ++l) {
      for (std::size_t i = 0; i < in; ++i) {
        want_x(s.b, l, i) = in_blocks(0, out, 0, [&](std::size_t o) {
          return std::pair(d_y(s.b, l, o), linear.weight()(o, i));
        });
      }
    }
    for (std::size_t o = 0; o < out; ++o) {
      want_bias(o) = in_blocks(s.begin, s.end, want_bias(o), [&](auto l) {
        return std::pair(d_y(s.b, l, o), 1.0f);
      });
      for (std::size_t i = 0; i < in; ++i) {
        want(o, i) = in_blocks(s.begin, s.end, want(o, i), [&](auto l) {
          return std::pair(d_y(s.b, l, o), x(s.b, l, i));
        });
      }
    }
  }
  EXPECT_TRUE(same_bits(d_x, want_x));
  EXPECT_TRUE(same_bits(params.weight, want));
  EXPECT_TRUE(same_bits(params.bias, want_bias));
}

TEST(ProjectionGradientTest, HasTheBitsOfTheContract) {
  for (const auto& [in, out] :
       {std::pair{1u, 1u}, {17u, 5u}, {130u, 50u}, {20u, 129u}, {64u, 257u}}) {
    const auto linear =
        Linear::create({in, out}, RandomStream(Seed{5}, 1)).value();
    for (const std::size_t L : {1u, 127u, 129u, 300u}) {
      expect_contract(linear, uniform<3>({2, L, in}, 20),
                      uniform<3>({2, L, out}, 21), {{0, 0, L}, {1, 0, L}});
    }
  }
}

TEST(ProjectionGradientTest, OfARaggedBatchBeginsItsBlocksAtEachSequence) {
  const auto linear = Linear::create({9, 7}, RandomStream(Seed{5}, 1)).value();
  const auto offsets = tensor_of<std::int64_t, 1>({4}, {0, 130, 130, 290});
  expect_contract(linear, uniform<3>({1, 290, 9}, 22),
                  uniform<3>({1, 290, 7}, 23),
                  {{0, 0, 130}, {0, 130, 130}, {0, 130, 290}}, offsets);
}

TEST(ProjectionGradientTest, LeavesATokenWithoutGradientOutWhateverItHolds) {
  const auto linear = Linear::create({9, 7}, RandomStream(Seed{5}, 1)).value();
  auto x = uniform<3>({2, 40, 9}, 24);
  auto d_y = uniform<3>({2, 40, 7}, 25);
  std::fill_n(&d_y(1, 30, 0), 10 * 7, 0.0f);
  const auto want = linear.backward_params(x, d_y).value();
  std::fill_n(&x(1, 30, 0), 10 * 9, kNaN);
  const auto got = linear.backward_params(x, d_y).value();
  EXPECT_TRUE(same_bits(got.weight, want.weight));
}

TEST(ProjectionGradientTest, RefusesShapesThatDoNotFit) {
  const auto linear = Linear::create({9, 7}, RandomStream(Seed{5}, 1)).value();
  const auto x = uniform<3>({2, 4, 9}, 26);
  const auto short_x = uniform<3>({2, 4, 8}, 26);
  const auto d_y = uniform<3>({2, 4, 7}, 27);
  const auto short_d_y = uniform<3>({2, 3, 7}, 27);
  EXPECT_THAT(linear.backward_input(x),
              testing_support::IsAbout("d_y", "(2, 4, 9)", "(2, 4, 7)"));
  EXPECT_THAT(linear.backward_params(short_x, d_y),
              testing_support::IsAbout("x", "(2, 4, 8)", "(2, 4, 9)"));
  EXPECT_THAT(linear.backward_params(x, short_d_y),
              testing_support::IsAbout("d_y", "(2, 3, 7)", "(2, 4, 7)"));
}

TEST(ProjectionGradientTest, SomeOutputsHaveTheBitsOfAll) {
  constexpr std::size_t kIn = 21;
  constexpr std::size_t kOut = 60;
  const Linear linear =
      Linear::create({.in_features = kIn, .out_features = kOut},
                     RandomStream(Seed{7}, 1))
          .value();
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
    const auto weight = projection_weight_gradient(sequences, kIn, rows,
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

}  // namespace
}  // namespace headwise
