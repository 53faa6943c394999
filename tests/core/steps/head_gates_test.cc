#include "headwise/steps/head_gates.h"

#include <array>
#include <limits>
#include <vector>

#include "headwise/steps/softmax.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Tensor<float, 4> gated(const Tensor<float, 4>& context,
                       const Tensor<float, 1>& gates) {
  auto to = Tensor<float, 4>::create(context.extents()).value();
  EXPECT_TRUE(gate_heads(context, gates, to));
  return to;
}

// docs/arithmetic.md, "Gates of heads", in scalar code.
float contract_dot(const Tensor<float, 4>& a, const Tensor<float, 4>& b,
                   std::size_t n, std::size_t l, std::size_t h) {
  std::array<float, 16> part{};
  for (std::size_t d = 0; d < a.extent(3); ++d) {
    part[d % 16] += a(n, l, h, d) * b(n, l, h, d);
  }
  for (std::size_t half = 8; half != 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      part[j] += part[j + half];
    }
  }
  return part[0];
}

TEST(HeadGatesTest, EachHeadIsMultipliedByItsGate) {
  const auto context = uniform<4>({2, 3, 4, 5}, 1);
  const auto to = gated(context, tensor_of<float, 1>({4}, {1, 0.5, -2, 0}));
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t d = 0; d < 5; ++d) {
        EXPECT_EQ(to(b, l, 0, d), context(b, l, 0, d));
        EXPECT_EQ(to(b, l, 1, d), context(b, l, 1, d) / 2);
        EXPECT_EQ(to(b, l, 2, d), context(b, l, 2, d) * -2);
        EXPECT_TRUE(same_bits({&to(b, l, 3, d), 1}, std::array{0.0f}));
      }
    }
  }
}

TEST(HeadGatesTest, AGateOfZeroLetsNothingThroughWhateverStandsThere) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto context = tensor_of<float, 4>({1, 1, 2, 3}, {kNaN, kInf, -1,  //
                                                          kNaN, kInf, -1});
  const auto to = gated(context, tensor_of<float, 1>({2}, {0, 1}));
  EXPECT_TRUE(same_bits(to.elements(),
                        std::array{0.0f, 0.0f, 0.0f, kNaN, kInf, -1.0f}));
}

TEST(HeadGatesTest, GradientsAreThoseOfTheContract) {
  const auto context = uniform<4>({2, 150, 3, 21}, 2);
  const auto d_gated = uniform<4>({2, 150, 3, 21}, 3);
  const auto gates = tensor_of<float, 1>({3}, {1, 0.25, 0});
  auto d_context = Tensor<float, 4>::create(context.extents()).value();
  const auto d_gates =
      gate_heads_backward(context, gates, d_gated, d_context).value();
  ASSERT_EQ(d_gates.extents(), (Extents<2>{2, 3}));
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 3; ++h) {
      float sum = 0;
      for (const auto& [begin, end] :
           {std::pair<std::size_t, std::size_t>{0, 128}, {128, 150}}) {
        float block = 0;
        for (std::size_t l = begin; l < end; ++l) {
          block += contract_dot(d_gated, context, b, l, h);
        }
        sum += block;
      }
      EXPECT_TRUE(same_bits({&d_gates(b, h), 1}, std::array{sum}));
    }
  }
  EXPECT_TRUE(
      same_bits(d_context.elements(), gated(d_gated, gates).elements()));
}

TEST(HeadGatesTest, RaggedSequencesHaveTheGradientsOfTheBatch) {
  const auto context = uniform<4>({1, 7, 2, 4}, 4);
  const auto d_gated = uniform<4>({1, 7, 2, 4}, 5);
  const auto gates = tensor_of<float, 1>({2}, {1, 1});
  const std::vector<std::int64_t> offsets = {0, 3, 3, 7};
  auto d_context = Tensor<float, 4>::create(context.extents()).value();
  const auto d_gates = gate_heads_backward(context, gates, d_gated, d_context,
                                           {offsets.data(), {4}})
                           .value();
  ASSERT_EQ(d_gates.extents(), (Extents<2>{3, 2}));
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t h = 0; h < 2; ++h) {
      float sum = 0;
      for (auto l = offsets[n]; l < offsets[n + 1]; ++l) {
        sum +=
            contract_dot(d_gated, context, 0, static_cast<std::size_t>(l), h);
      }
      EXPECT_TRUE(same_bits({&d_gates(n, h), 1}, std::array{sum})) << n;
    }
  }
}

TEST(HeadGatesTest, ATokenWithoutAGradientIsLeftOut) {
  auto context = uniform<4>({1, 2, 1, 3}, 6);
  auto d_gated = uniform<4>({1, 2, 1, 3}, 7);
  for (std::size_t d = 0; d < 3; ++d) {
    context(0, 1, 0, d) = kNaN;
    d_gated(0, 1, 0, d) = 0;
  }
  const auto gates = tensor_of<float, 1>({1}, {1});
  auto d_context = Tensor<float, 4>::create(context.extents()).value();
  const auto d_gates =
      gate_heads_backward(context, gates, d_gated, d_context).value();
  EXPECT_EQ(d_gates(0, 0), contract_dot(d_gated, context, 0, 0, 0));
}

TEST(HeadGatesTest, WhatDoesNotFitIsNamed) {
  const auto context = uniform<4>({1, 2, 3, 4}, 8);
  auto to = Tensor<float, 4>::create(context.extents()).value();
  const auto two = tensor_of<float, 1>({2}, {1, 1});
  EXPECT_THAT(gate_heads(context, two, to).error().message(),
              HasSubstr("head_gates has shape (2), expected (H) = (3)"));
  const auto nan = tensor_of<float, 1>({3}, {1, kNaN, 1});
  EXPECT_THAT(gate_heads(context, nan, to).error().message(),
              HasSubstr("head_gates[1] is nan, expected a finite number"));
  auto narrow = Tensor<float, 4>::create({1, 2, 3, 3}).value();
  const auto ones = tensor_of<float, 1>({3}, {1, 1, 1});
  EXPECT_THAT(gate_heads(context, ones, narrow).error().message(),
              HasSubstr("gated has shape (1, 2, 3, 3)"));
}

}  // namespace
}  // namespace headwise::testing_support
