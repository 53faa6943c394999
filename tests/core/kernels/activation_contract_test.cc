// The bits of GELU are those of docs/arithmetic.md, on every instruction set
// with fused multiply-add that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "headwise/steps/gelu.h"
#include "kernels/encoder_contract.h"
#include "kernels/gelu.h"
#include "support/checksum.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

Tensor<float, 2> gelu_of(const Tensor<float, 2>& x) {
  auto y = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(gelu(x.view(), y.view()));
  return y;
}

Tensor<float, 2> contract_gelu_of(const Tensor<float, 2>& x) {
  const FloatEnvironment environment;
  auto y = filled<float, 2>(x.extents(), 0);
  std::ranges::transform(x.elements(), y.data(), contract_gelu);
  return y;
}

Tensor<float, 2> gelu_backward_of(const Tensor<float, 2>& x,
                                  const Tensor<float, 2>& d_y) {
  auto d_x = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(gelu_backward(x.view(), d_y.view(), d_x.view()));
  return d_x;
}

Tensor<float, 2> contract_gelu_backward_of(const Tensor<float, 2>& x,
                                           const Tensor<float, 2>& d_y) {
  const FloatEnvironment environment;
  auto d_x = filled<float, 2>(x.extents(), 0);
  std::ranges::transform(x.elements(), d_y.elements(), d_x.data(),
                         contract_gelu_backward);
  return d_x;
}

// Every 4099th bit pattern: numbers of every size, denormal ones, infinities
// and NaNs, of both signs.
Tensor<float, 2> numbers_of_every_size() {
  constexpr std::uint32_t kStep = 4099;
  constexpr std::size_t kCount = (std::uint64_t{1} << 32) / kStep;
  auto x = Tensor<float, 2>::create({1, kCount}).value();
  for (std::size_t i = 0; i < kCount; ++i) {
    x(0, i) = std::bit_cast<float>(static_cast<std::uint32_t>(i) * kStep);
  }
  return x;
}

class GeluContractTest : public TargetTest {};

TEST_P(GeluContractTest, HoldsForNumbersOfEverySize) {
  const auto x = numbers_of_every_size();
  EXPECT_TRUE(same_bits(gelu_of(x), contract_gelu_of(x)));
}

TEST_P(GeluContractTest, HoldsForZerosAndInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto x =
      tensor_of<float, 2>({1, 5}, {0.0f, -0.0f, infinity, -infinity, -kNaN});
  EXPECT_TRUE(same_bits(gelu_of(x), contract_gelu_of(x)));
}

TEST_P(GeluContractTest, HoldsForEveryNumberOfElements) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto x = uniform<2>({3, E}, 41, -4, 4);
    EXPECT_TRUE(same_bits(gelu_of(x), contract_gelu_of(x))) << E << " elements";
  }
}

TEST_P(GeluContractTest, WritesNoElementBeyondItsOwn) {
  const auto x = uniform<2>({1, 70}, 42, -4, 4);
  for (std::size_t count = 0; count < 70; ++count) {
    auto y = filled<float, 2>({1, 70}, -7);
    kernels::gelu().elements(x.data(), count, y.data());
    EXPECT_TRUE(std::all_of(y.data() + count, y.data() + 70,
                            [](float beyond) { return beyond == -7; }))
        << count << " elements";
  }
}

// They change only when docs/arithmetic.md does.
TEST_P(GeluContractTest, ItsBitsAreTheseEverywhere) {
  Checksum checksum;
  checksum.add(gelu_of(numbers_of_every_size()).elements());
  EXPECT_EQ(checksum.value(), 0x91df1df1d7f460f3);
}

TEST_P(GeluContractTest, BackwardHoldsForNumbersOfEverySize) {
  const auto x = numbers_of_every_size();
  const auto ones = filled<float, 2>(x.extents(), 1);
  const auto some = uniform<2>(x.extents(), 43, -3, 3);
  EXPECT_TRUE(
      same_bits(gelu_backward_of(x, ones), contract_gelu_backward_of(x, ones)));
  EXPECT_TRUE(
      same_bits(gelu_backward_of(x, some), contract_gelu_backward_of(x, some)));
  EXPECT_TRUE(
      same_bits(gelu_backward_of(some, x), contract_gelu_backward_of(some, x)));
}

TEST_P(GeluContractTest, BackwardHoldsForZerosAndInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  constexpr float kDenormal = 1e-40f;
  const std::vector<float> ends{0.0f,      -0.0f, infinity,   -infinity,
                                kDenormal, -kNaN, -kDenormal, 1.0f};
  auto x = filled<float, 2>({8, 8}, 0);
  auto d_y = filled<float, 2>({8, 8}, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      x(i, j) = ends[i];
      d_y(i, j) = ends[j];
    }
  }
  EXPECT_TRUE(
      same_bits(gelu_backward_of(x, d_y), contract_gelu_backward_of(x, d_y)));
}

TEST_P(GeluContractTest, BackwardHoldsForEveryNumberOfElements) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto x = uniform<2>({3, E}, 44, -4, 4);
    const auto d_y = uniform<2>({3, E}, 45);
    EXPECT_TRUE(
        same_bits(gelu_backward_of(x, d_y), contract_gelu_backward_of(x, d_y)))
        << E << " elements";
  }
}

TEST_P(GeluContractTest, BackwardWritesNoElementBeyondItsOwn) {
  const auto x = uniform<2>({1, 70}, 46, -4, 4);
  for (std::size_t count = 0; count < 70; ++count) {
    auto d_x = filled<float, 2>({1, 70}, -7);
    kernels::gelu().gradient(x.data(), x.data(), count, d_x.data());
    EXPECT_TRUE(std::all_of(d_x.data() + count, d_x.data() + 70,
                            [](float beyond) { return beyond == -7; }))
        << count << " elements";
  }
}

// They change only when docs/arithmetic.md does.
TEST_P(GeluContractTest, ItsBitsBackwardAreTheseEverywhere) {
  const auto x = numbers_of_every_size();
  Checksum checksum;
  checksum.add(
      gelu_backward_of(x, uniform<2>(x.extents(), 43, -3, 3)).elements());
  EXPECT_EQ(checksum.value(), 0xfa18219ae5746cff);
}

INSTANTIATE_TEST_SUITE_P(Targets, GeluContractTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GeluContractTest);

}  // namespace
}  // namespace headwise::testing_support
