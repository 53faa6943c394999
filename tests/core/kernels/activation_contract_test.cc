// The bits of activations are those of docs/arithmetic.md, on every instruction
// set with fused multiply-add that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "headwise/steps/activation.h"
#include "kernels/activation.h"
#include "kernels/encoder_contract.h"
#include "support/checksum.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

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

// Each pair of two special numbers, as an element of each tensor.
std::pair<Tensor<float, 2>, Tensor<float, 2>> pairs_of_ends() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kDenormal = 1e-40f;
  const std::vector<float> ends{0.0f,      -0.0f, kInfinity,  -kInfinity,
                                kDenormal, -kNaN, -kDenormal, 1.0f};
  auto first = filled<float, 2>({8, 8}, 0);
  auto second = filled<float, 2>({8, 8}, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      first(i, j) = ends[i];
      second(i, j) = ends[j];
    }
  }
  return {std::move(first), std::move(second)};
}

struct ActivationChecksums {
  std::uint64_t forward;
  std::uint64_t backward;
};

using ContractCase = std::tuple<std::int64_t, Activation>;

class ActivationContractTest : public testing::TestWithParam<ContractCase> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(std::get<0>(GetParam()));
  }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
  static Activation activation() { return std::get<1>(GetParam()); }

  static Tensor<float, 2> activated(const Tensor<float, 2>& x) {
    auto y = filled<float, 2>(x.extents(), -7);
    EXPECT_TRUE(activate(activation(), x.view(), y.view()));
    return y;
  }
  static Tensor<float, 2> backward(const Tensor<float, 2>& x,
                                   const Tensor<float, 2>& d_y) {
    auto d_x = filled<float, 2>(x.extents(), -7);
    EXPECT_TRUE(
        activate_backward(activation(), x.view(), d_y.view(), d_x.view()));
    return d_x;
  }

  static void expect_contract(const Tensor<float, 2>& x) {
    auto want = filled<float, 2>(x.extents(), 0);
    {
      const FloatEnvironment environment;
      std::ranges::transform(x.elements(), want.data(), [](float at) {
        return contract_activate(activation(), at);
      });
    }
    EXPECT_TRUE(same_bits(activated(x), want)) << x.size() << " elements";
  }
  static void expect_backward_contract(const Tensor<float, 2>& x,
                                       const Tensor<float, 2>& d_y) {
    auto want = filled<float, 2>(x.extents(), 0);
    {
      const FloatEnvironment environment;
      std::ranges::transform(
          x.elements(), d_y.elements(), want.data(), [](float at, float d) {
            return contract_activate_backward(activation(), at, d);
          });
    }
    EXPECT_TRUE(same_bits(backward(x, d_y), want)) << x.size() << " elements";
  }
  static void expect_gate_contract(const Tensor<float, 2>& gate,
                                   const Tensor<float, 2>& up,
                                   const Tensor<float, 2>& d_y) {
    auto want = filled<float, 2>(gate.extents(), 0);
    auto want_d_gate = filled<float, 2>(gate.extents(), 0);
    auto want_d_up = filled<float, 2>(gate.extents(), 0);
    {
      const FloatEnvironment environment;
      for (std::size_t i = 0; i < gate.size(); ++i) {
        const float at = gate.data()[i];
        const float d = d_y.data()[i];
        want.data()[i] = contract_activate_gate(activation(), at, up.data()[i]);
        want_d_gate.data()[i] =
            contract_activate_backward(activation(), at, d, up.data()[i]);
        want_d_up.data()[i] =
            d == 0 ? 0 : contract_activate_gate(activation(), at, d);
      }
    }
    auto y = filled<float, 2>(gate.extents(), -7);
    auto d_gate = filled<float, 2>(gate.extents(), -7);
    auto d_up = filled<float, 2>(gate.extents(), -7);
    EXPECT_TRUE(activate_gate(activation(), gate, up, y));
    EXPECT_TRUE(
        activate_gate_backward(activation(), gate, up, d_y, d_gate, d_up));
    EXPECT_TRUE(same_bits(y, want)) << gate.size() << " elements";
    EXPECT_TRUE(same_bits(d_gate, want_d_gate)) << gate.size() << " elements";
    EXPECT_TRUE(same_bits(d_up, want_d_up)) << gate.size() << " elements";
  }
};

TEST_P(ActivationContractTest, HoldsForNumbersOfEverySize) {
  const auto x = numbers_of_every_size();
  const auto some = uniform<2>(x.extents(), 43, -3, 3);
  const auto more = uniform<2>(x.extents(), 44, -3, 3);
  expect_contract(x);
  expect_backward_contract(x, filled<float, 2>(x.extents(), 1));
  expect_backward_contract(x, some);
  expect_backward_contract(some, x);
  expect_gate_contract(x, some, more);
  expect_gate_contract(some, x, more);
  expect_gate_contract(some, more, x);
}

TEST_P(ActivationContractTest, HoldsForZerosAndInfinities) {
  const auto [x, d_y] = pairs_of_ends();
  const auto twos = filled<float, 2>({8, 8}, 2);
  expect_contract(x);
  expect_backward_contract(x, d_y);
  expect_gate_contract(x, d_y, twos);
  expect_gate_contract(x, twos, d_y);
  expect_gate_contract(twos, x, d_y);
}

TEST_P(ActivationContractTest, HoldsForEveryNumberOfElements) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto x = uniform<2>({3, E}, 41, -4, 4);
    const auto d_y = uniform<2>({3, E}, 45);
    expect_contract(x);
    expect_backward_contract(x, d_y);
    expect_gate_contract(x, uniform<2>({3, E}, 46), d_y);
  }
}

TEST_P(ActivationContractTest, WritesNoElementBeyondItsOwn) {
  const auto x = uniform<2>({1, 70}, 42, -4, 4);
  const kernels::Activations& all = kernels::activations();
  for (const kernels::Activation* loops :
       {&all.gaussian, &all.logistic, &all.rectifier}) {
    for (std::size_t count = 0; count < 70; ++count) {
      auto out = filled<float, 2>({5, 70}, -7);
      const float* in = x.data();
      loops->elements({.a = 1}, in, count, &out(0, 0));
      loops->gradient({.a = 1}, in, in, count, &out(1, 0));
      loops->gated({.a = 1}, in, in, count, &out(2, 0));
      loops->gated_gradient({.a = 1}, in, in, in, count, &out(3, 0),
                            &out(4, 0));
      for (std::size_t n = 0; n < 5; ++n) {
        EXPECT_TRUE(std::all_of(&out(n, 0) + count, &out(n, 0) + 70,
                                [](float beyond) { return beyond == -7; }))
            << count << " elements of output " << n;
      }
    }
  }
}

// They change only when docs/arithmetic.md does.
TEST_P(ActivationContractTest, ItsBitsAreTheseEverywhere) {
  constexpr ActivationChecksums kWant[] = {
      {0x91df1df1d7f460f3, 0xfa18219ae5746cff},  // gelu
      {0xa024a94046b8463d, 0x96fb7a2ba10e1dd7},  // gelu_tanh
      {0xb2e052fdd08e4d3f, 0x04235fb0357440e8},  // silu
      {0xbfad625d7773149b, 0x75221aa03cee52ad},  // quick_gelu
      {0x39f448c502ba48e9, 0x2fad37ac04424fbb},  // relu
  };
  const auto [forward, backward_] = kWant[static_cast<int>(activation())];
  const auto x = numbers_of_every_size();
  Checksum checksum;
  checksum.add(activated(x).elements());
  EXPECT_EQ(checksum.value(), forward);
  Checksum of_gradient;
  of_gradient.add(backward(x, uniform<2>(x.extents(), 43, -3, 3)).elements());
  EXPECT_EQ(of_gradient.value(), backward_);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, ActivationContractTest,
    testing::Combine(testing::ValuesIn(targets(kFusedTargets)),
                     testing::Values(Activation::gelu, Activation::gelu_tanh,
                                     Activation::silu, Activation::quick_gelu,
                                     Activation::relu)));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ActivationContractTest);

}  // namespace
}  // namespace headwise::testing_support
