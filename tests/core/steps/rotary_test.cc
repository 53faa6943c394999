#include "headwise/steps/rotary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "run/float_environment.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::int64_t kLast = (std::int64_t{1} << 31) - 1;

Rotary rotary_of(const RotaryConfig& config) {
  return Rotary::create(config).value();
}

Tensor<float, 4> rotated(
    const Rotary& rotary, TensorView<const float, 4> x,
    const RotaryPositions& positions = {},
    const Executor& executor = Executor::default_executor()) {
  auto y = filled<float, 4>(x.extents(), -7);
  const Status s = rotary.rotate(x, y, positions, executor);
  EXPECT_TRUE(s) << s.error().message();
  return y;
}

struct Angles {
  std::vector<float> cos;
  std::vector<float> sin;
};
Angles angles_of(const Rotary& rotary, std::int64_t position) {
  Angles angles{std::vector<float>(rotary.rotary_dim() / 2),
                std::vector<float>(rotary.rotary_dim() / 2)};
  EXPECT_TRUE(rotary.angles(position, angles.cos, angles.sin));
  return angles;
}

// Near, far, and where a turn ends.
std::vector<std::int64_t> some_positions() {
  std::vector<std::int64_t> positions = {
      0, 1, 2, 3, 355, 65535, 65536, 103993, 104348, 1048576, 245850922, kLast};
  for (std::int64_t n = 5; n < kLast; n = n * 17 / 5 + 11) {
    positions.push_back(n);
  }
  return positions;
}

// ---- The arithmetic of docs/arithmetic.md in scalar code. ----

struct Turn {
  float cos;
  float sin;
};

Turn contract_turn(double angle, double factor) {
  const double n = std::nearbyint(angle * 0x1.45f306dc9c883p-1);
  const double high = std::nearbyint(n * 0x1p-16) * 0x1p+16;
  double r = angle - high * 0x1.921fb544p+0;
  r -= (n - high) * 0x1.921fb544p+0;
  r -= n * 0x1.0b461p-34;
  r -= n * 0x1.a62633145c06ep-58;
  const double square = r * r;
  const auto factorial = [](int k) {
    double product = 1;
    for (int i = 2; i <= k; ++i) {
      product *= i;
    }
    return product;
  };
  double sine = -1 / factorial(15);
  for (int k = 13; k >= 3; k -= 2) {
    sine = sine * square + (k % 4 == 1 ? 1 : -1) / factorial(k);
  }
  sine = r + r * square * sine;
  double cosine = 1 / factorial(16);
  for (int k = 14; k >= 0; k -= 2) {
    cosine = cosine * square + (k % 4 == 0 ? 1 : -1) / factorial(k);
  }
  const auto quadrant = static_cast<std::int64_t>(n) % 4;
  const std::array<std::array<double, 2>, 4> turns = {
      {{cosine, sine}, {-sine, cosine}, {-cosine, -sine}, {sine, -cosine}}};
  const auto& [c, s] = turns[static_cast<std::size_t>(quadrant)];
  return {static_cast<float>(c * factor), static_cast<float>(s * factor)};
}

Tensor<float, 4> contract_rotated(const Rotary& rotary,
                                  const Tensor<float, 4>& x,
                                  std::int64_t start) {
  const FloatEnvironment environment;
  auto y = clone(x);
  const std::size_t pairs = rotary.rotary_dim() / 2;
  const bool halves = rotary.layout() == RotaryLayout::halves;
  const auto [B, L, H, D] = x.extents();
  for (std::size_t n = 0; n < B * L * H; ++n) {
    const std::size_t h = n % H;
    const std::size_t l = n / H % L;
    const std::size_t b = n / H / L;
    for (std::size_t p = 0; p < pairs; ++p) {
      const std::size_t first = halves ? p : 2 * p;
      const std::size_t second = halves ? p + pairs : 2 * p + 1;
      const auto [cos, sin] = contract_turn(
          static_cast<double>(start + static_cast<std::int64_t>(l)) *
              rotary.frequencies()[p],
          rotary.attention_factor());
      const float x1 = x(b, l, h, first);
      const float x2 = x(b, l, h, second);
      y(b, l, h, first) = std::fma(x1, cos, -(x2 * sin));
      y(b, l, h, second) = std::fma(x2, cos, x1 * sin);
    }
  }
  return y;
}

class RotaryContractTest : public TargetTest {};

TEST_P(RotaryContractTest, HoldsForEveryLayoutAndSize) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    for (const std::size_t dim : {2u, 6u, 16u, 22u, 64u, 128u, 300u}) {
      const Rotary rotary =
          rotary_of({.rotary_dim = dim, .base = 500000, .layout = layout});
      for (const std::int64_t start :
           {std::int64_t{0}, std::int64_t{70000}, kLast - 4}) {
        const auto x = uniform<4>({2, 5, 3, dim + dim % 3}, 7);
        EXPECT_TRUE(same_bits(rotated(rotary, x, {.start = start}),
                              contract_rotated(rotary, x, start)))
            << dim << " from " << start;
      }
    }
  }
}

TEST_P(RotaryContractTest, HoldsForTheAngles) {
  const Rotary rotary =
      rotary_of({.rotary_dim = 66,
                 .scaling = YarnScaling{.factor = 4, .original_length = 2048}});
  for (const std::int64_t position : some_positions()) {
    const auto [cos, sin] = angles_of(rotary, position);
    for (std::size_t p = 0; p < cos.size(); ++p) {
      const Turn turn =
          contract_turn(static_cast<double>(position) * rotary.frequencies()[p],
                        rotary.attention_factor());
      ASSERT_EQ(std::bit_cast<std::uint32_t>(cos[p]),
                std::bit_cast<std::uint32_t>(turn.cos))
          << position << ", pair " << p;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sin[p]),
                std::bit_cast<std::uint32_t>(turn.sin))
          << position << ", pair " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFusedTarget, RotaryContractTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);

// ---- Against the formulas in double, on every instruction set. ----

class RotaryTest : public TargetTest {};

TEST_P(RotaryTest, SineAndCosineAreThoseOfTheAngle) {
  const Rotary rotary = rotary_of({.rotary_dim = 256});
  double worst = 0;
  for (const std::int64_t position : some_positions()) {
    const auto [cos, sin] = angles_of(rotary, position);
    for (std::size_t p = 0; p < cos.size(); ++p) {
      const double angle =
          static_cast<double>(position) * rotary.frequencies()[p];
      worst = std::max({worst, std::abs(cos[p] - std::cos(angle)),
                        std::abs(sin[p] - std::sin(angle))});
    }
  }
  EXPECT_LE(worst, 3.0e-8);
  EXPECT_GT(worst, 2.9e-8);  // half of a last place
}

TEST_P(RotaryTest, PairsTurnByTheAngleOfTheirPosition) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    const Rotary rotary = rotary_of({.rotary_dim = 12, .layout = layout});
    const auto x = uniform<4>({2, 9, 3, 16}, 1);
    const auto y = rotated(rotary, x, {.start = 1000});
    for (std::size_t l = 0; l < 9; ++l) {
      for (std::size_t p = 0; p < 6; ++p) {
        const double angle = (1000 + static_cast<double>(l)) *
                             std::pow(10000, -2 * static_cast<double>(p) / 12);
        const bool halves = layout == RotaryLayout::halves;
        const std::size_t i = halves ? p : 2 * p;
        const std::size_t j = halves ? p + 6 : 2 * p + 1;
        EXPECT_NEAR(
            y(1, l, 2, i),
            x(1, l, 2, i) * std::cos(angle) - x(1, l, 2, j) * std::sin(angle),
            2e-7);
        EXPECT_NEAR(
            y(1, l, 2, j),
            x(1, l, 2, j) * std::cos(angle) + x(1, l, 2, i) * std::sin(angle),
            2e-7);
      }
      for (std::size_t d = 12; d < 16; ++d) {
        EXPECT_EQ(y(1, l, 2, d), x(1, l, 2, d));
      }
    }
  }
}

TEST_P(RotaryTest, BackwardTurnsBack) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    const Rotary rotary = rotary_of({.rotary_dim = 38, .layout = layout});
    const auto x = uniform<4>({3, 4, 2, 40}, 2);
    const auto d_y = uniform<4>({3, 4, 2, 40}, 3);
    const auto y = rotated(rotary, x, {.start = 77});
    auto d_x = filled<float, 4>(x.extents(), -7);
    ASSERT_TRUE(rotary.rotate_back(d_y, d_x, {.start = 77}));
    double forward = 0;
    double backward = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      forward += double{y.data()[n]} * d_y.data()[n];
      backward += double{x.data()[n]} * d_x.data()[n];
    }
    EXPECT_NEAR(forward, backward, 1e-5);
    auto again = filled<float, 4>(x.extents(), -7);
    ASSERT_TRUE(rotary.rotate_back(y, again, {.start = 77}));
    for (std::size_t n = 0; n < x.size(); ++n) {
      ASSERT_NEAR(again.data()[n], x.data()[n], 3e-7);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, RotaryTest, testing::ValuesIn(targets()),
                         target_name);

// ---- Places and positions. ----

TEST(RotaryPlacesTest, InPlaceIsTheSame) {
  const Rotary rotary = rotary_of({.rotary_dim = 10});
  auto x = uniform<4>({2, 5, 2, 14}, 4);
  const auto y = rotated(rotary, x);
  ASSERT_TRUE(rotary.rotate(x, x));
  EXPECT_TRUE(same_bits(x, y));
}

TEST(RotaryPlacesTest, StridesBatchesAndThreadsChangeNoBit) {
  const Rotary rotary = rotary_of({.rotary_dim = 64});
  const auto x = uniform<4>({3, 200, 4, 64}, 5);
  const auto y = rotated(rotary, x);
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    EXPECT_TRUE(same_bits(
        rotated(rotary, x, {}, Executor::with_threads(threads).value()), y));
  }
  const auto one = rotated(
      rotary, TensorView<const float, 4>(&x(1, 0, 0, 0), {1, 200, 4, 64}));
  EXPECT_TRUE(
      std::equal(one.elements().begin(), one.elements().end(), &y(1, 0, 0, 0)));
  // Heads before tokens in memory.
  const TensorView<const float, 4> strided(x.data(), {3, 4, 200, 64},
                                           {51200, 64, 256, 1});
  const auto turned = rotated(rotary, strided, {.start = 9});
  const auto alone =
      rotated(rotary, TensorView<const float, 4>(&x(0, 7, 2, 0), {1, 1, 1, 64}),
              {.start = 11});
  for (std::size_t d = 0; d < 64; ++d) {
    EXPECT_EQ(turned(0, 2, 7, d), alone(0, 0, 0, d));
  }
}

TEST(RotaryPlacesTest, PositionsSayWhereTokensStand) {
  const Rotary rotary = rotary_of({.rotary_dim = 8});
  const auto x = uniform<4>({2, 3, 1, 8}, 6);
  const auto positions =
      tensor_of<std::int64_t, 2>({2, 3}, {4, 5, 6, 0, 0, 100});
  const auto y = rotated(rotary, x, {.positions = positions});
  const auto of_row = [&](std::size_t b, std::size_t l, std::int64_t position) {
    const auto one = rotated(
        rotary, TensorView<const float, 4>(&x(b, l, 0, 0), {1, 1, 1, 8}),
        {.start = position});
    return std::equal(one.elements().begin(), one.elements().end(),
                      &y(b, l, 0, 0));
  };
  EXPECT_TRUE(of_row(0, 2, 6));
  EXPECT_TRUE(of_row(1, 1, 0));
  EXPECT_TRUE(of_row(1, 2, 100));
  const std::vector<std::int64_t> row = {4, 5, 6};
  const TensorView<const std::int64_t, 2> shared(row.data(), {2, 3}, {0, 1});
  EXPECT_TRUE(same_bits(rotated(rotary, x, {.positions = shared}),
                        rotated(rotary, x, {.start = 4})));
}

// Input, output and positions are views of larger memory, with features that
// do not rotate; what is between them stays.
TEST(RotaryPlacesTest, ViewsMayHaveAnyStrides) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    const Rotary rotary = rotary_of({.rotary_dim = 6, .layout = layout});
    const auto from = uniform<4>({2, 3, 2, 16}, 13);
    const auto numbers = tensor_of<std::int64_t, 2>(
        {3, 4}, {9, -1, 40, -1, 0, -1, 7, -1, 1000, -1, 3, -1});
    const TensorView<const float, 4> x(from.data() + 5, {2, 2, 3, 8},
                                       {96, 16, 32, 1});
    const TensorView<const std::int64_t, 2> positions(numbers.data(), {2, 2},
                                                      {4, 2});
    const auto same = tensor_of<std::int64_t, 2>({2, 2}, {9, 40, 0, 7});
    for (const auto turn : {&Rotary::rotate, &Rotary::rotate_back}) {
      auto memory = filled<float, 4>({3, 2, 2, 10}, -7);
      const TensorView<float, 4> y(memory.data() + 1, {2, 2, 3, 8},
                                   {20, 10, 40, 1});
      auto expected = copy_of(x);
      ASSERT_TRUE((rotary.*turn)(expected, expected, {.positions = same},
                                 Executor::default_executor()));
      ASSERT_TRUE((rotary.*turn)(x, y, {.positions = positions},
                                 Executor::default_executor()));
      EXPECT_TRUE(same_bits(copy_of(y), expected));
      for (std::size_t n = 0; n < memory.size(); n += 10) {
        EXPECT_EQ(memory.data()[n], -7);
        EXPECT_EQ(memory.data()[n + 9], -7);
      }
    }
  }
}

TEST(RotaryPlacesTest, EveryNaNIsTheSame) {
  const Rotary rotary = rotary_of({.rotary_dim = 4});
  auto x = filled<float, 4>({1, 1, 1, 4}, 1);
  x(0, 0, 0, 1) = -std::numeric_limits<float>::signaling_NaN();
  const auto y = rotated(rotary, x, {.start = 3});
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y(0, 0, 0, 1)), kNaNBits);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y(0, 0, 0, 3)), kNaNBits);
  EXPECT_FALSE(std::isnan(y(0, 0, 0, 0)));
}

TEST(RotaryPlacesTest, NothingIsNothing) {
  const Rotary rotary = rotary_of({.rotary_dim = 4});
  for (const Extents<4>& extents : {Extents<4>{2, 0, 3, 4}, {0, 2, 3, 4}}) {
    const auto x = Tensor<float, 4>::create(extents).value();
    EXPECT_EQ(rotated(rotary, x).size(), 0u);
  }
}

// ---- Tables. ----

TEST(RotaryTablesTest, ComputeAsTheFrequenciesDo) {
  for (const auto layout : {RotaryLayout::halves, RotaryLayout::interleaved}) {
    const Rotary rotary = rotary_of({.rotary_dim = 300, .layout = layout});
    auto cos = filled<float, 2>({12, 150}, 0);
    auto sin = filled<float, 2>({12, 150}, 0);
    for (std::size_t n = 0; n < 12; ++n) {
      ASSERT_TRUE(rotary.angles(static_cast<std::int64_t>(n), {&cos(n, 0), 150},
                                {&sin(n, 0), 150}));
    }
    const Rotary tables = Rotary::from_tables(cos, sin, layout).value();
    EXPECT_EQ(tables.rotary_dim(), 300u);
    EXPECT_EQ(tables.positions(), 12u);
    EXPECT_TRUE(tables.frequencies().empty());
    const auto x = uniform<4>({2, 12, 2, 301}, 8);
    EXPECT_TRUE(same_bits(rotated(tables, x), rotated(rotary, x)));
    auto d_tables = clone(x);
    auto d_rotary = clone(x);
    ASSERT_TRUE(tables.rotate_back(d_tables, d_tables));
    ASSERT_TRUE(rotary.rotate_back(d_rotary, d_rotary));
    EXPECT_TRUE(same_bits(d_tables, d_rotary));
  }
}

// Rows of numbers that are no cosines and sines, columns before rows in memory.
TEST(RotaryTablesTest, RowsAreUsedAsTheyAre) {
  const auto cos = uniform<2>({3, 9}, 10);
  const auto sin = uniform<2>({3, 9}, 11);
  const auto across = [](const Tensor<float, 2>& table) {
    return TensorView<const float, 2>(table.data(), {9, 3}, {1, 9});
  };
  const Rotary tables = Rotary::from_tables(across(cos), across(sin)).value();
  const auto x = uniform<4>({2, 4, 2, 7}, 12);
  const auto positions =
      tensor_of<std::int64_t, 2>({2, 4}, {8, 0, 3, 3, 1, 7, 2, 5});
  const auto y = rotated(tables, x, {.positions = positions});
  auto back = filled<float, 4>(x.extents(), -7);
  ASSERT_TRUE(tables.rotate_back(x, back, {.positions = positions}));
  for (std::size_t row = 0; row < 16; ++row) {
    const float* const of = x.data() + row * 7;
    const auto n = static_cast<std::size_t>(positions.data()[row / 2]);
    for (std::size_t p = 0; p < 3; ++p) {
      const float c = cos(p, n);
      const float s = sin(p, n);
      const float x1 = of[p];
      const float x2 = of[p + 3];
      EXPECT_NEAR(y.data()[row * 7 + p], x1 * c - x2 * s, 2e-7);
      EXPECT_NEAR(y.data()[row * 7 + p + 3], x2 * c + x1 * s, 2e-7);
      EXPECT_NEAR(back.data()[row * 7 + p], x1 * c + x2 * s, 2e-7);
      EXPECT_NEAR(back.data()[row * 7 + p + 3], x2 * c - x1 * s, 2e-7);
    }
    EXPECT_EQ(y.data()[row * 7 + 6], of[6]);
    EXPECT_EQ(back.data()[row * 7 + 6], of[6]);
  }
}

TEST(RotaryTablesTest, WhatIsNoNumberStaysInItsRowAndPair) {
  auto cos = filled<float, 2>({3, 2}, 1);
  auto sin = filled<float, 2>({3, 2}, 0);
  cos(1, 0) = -std::numeric_limits<float>::signaling_NaN();
  sin(2, 1) = std::numeric_limits<float>::infinity();
  const Rotary tables = Rotary::from_tables(cos, sin).value();
  const auto x = filled<float, 4>({1, 3, 1, 4}, 2);
  const auto y = rotated(tables, x);
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(y(0, 0, 0, d), 2);
    EXPECT_EQ(bits(y(0, 1, 0, d)), d % 2 == 0 ? kNaNBits : bits(2.0f)) << d;
  }
  EXPECT_EQ(y(0, 2, 0, 0), 2);
  EXPECT_EQ(y(0, 2, 0, 1), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(y(0, 2, 0, 2), 2);
  EXPECT_EQ(y(0, 2, 0, 3), std::numeric_limits<float>::infinity());
}

// ---- Scaling. ----

std::vector<double> frequencies_of(const RotaryConfig& config) {
  const Rotary rotary = rotary_of(config);
  return {rotary.frequencies().begin(), rotary.frequencies().end()};
}

TEST(RotaryScalingTest, FrequenciesArePowersOfTheBase) {
  const auto frequencies = frequencies_of({.rotary_dim = 128, .base = 500000});
  ASSERT_EQ(frequencies.size(), 64u);
  EXPECT_EQ(frequencies[0], 1);
  for (std::size_t p = 0; p < 64; ++p) {
    const double exact = std::pow(500000, -static_cast<double>(p) / 64);
    EXPECT_NEAR(frequencies[p], exact, 3e-15 * exact);
  }
}

TEST(RotaryScalingTest, LinearDividesThem) {
  const auto plain = frequencies_of({.rotary_dim = 64});
  const auto scaled =
      frequencies_of({.rotary_dim = 64, .scaling = LinearScaling{.factor = 4}});
  for (std::size_t p = 0; p < 32; ++p) {
    EXPECT_EQ(scaled[p], plain[p] / 4);
  }
}

TEST(RotaryScalingTest, NtkKeepsTheFirstAndDividesTheLast) {
  const auto plain = frequencies_of({.rotary_dim = 64});
  const auto scaled =
      frequencies_of({.rotary_dim = 64, .scaling = NtkScaling{.factor = 8}});
  EXPECT_EQ(scaled[0], 1);
  EXPECT_NEAR(scaled[31], plain[31] / 8, 1e-14 * plain[31]);
}

// Llama 3.1: pairs up to 28 are kept, those from 35 on divided by 8.
TEST(RotaryScalingTest, Llama3BlendsBetweenTheTwoWavelengths) {
  const auto plain = frequencies_of({.rotary_dim = 128, .base = 500000});
  const auto scaled =
      frequencies_of({.rotary_dim = 128,
                      .base = 500000,
                      .scaling = Llama3Scaling{.factor = 8,
                                               .low_freq_factor = 1,
                                               .high_freq_factor = 4,
                                               .original_length = 8192}});
  for (std::size_t p = 0; p < 64; ++p) {
    if (p <= 28) {
      EXPECT_EQ(scaled[p], plain[p]) << p;
    } else if (p >= 35) {
      EXPECT_EQ(scaled[p], plain[p] / 8) << p;
    } else {
      EXPECT_GT(scaled[p], plain[p] / 8) << p;
      EXPECT_LT(scaled[p], plain[p]) << p;
      const double wavelength = 2 * std::numbers::pi / plain[p];
      const double share = (8192 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[p], (1 - share) * plain[p] / 8 + share * plain[p],
                  1e-14 * plain[p])
          << p;
    }
  }
}

// gpt-oss: the divisor at pair 17 of 32 is 13.76, and 7.80 with a ramp that
// ends at whole pairs.
TEST(RotaryScalingTest, YarnRampsBetweenThePairs) {
  const RotaryConfig plain = {.rotary_dim = 64, .base = 150000};
  RotaryConfig config = plain;
  YarnScaling yarn{.factor = 32, .original_length = 4096, .truncate = false};
  config.scaling = yarn;
  EXPECT_NEAR(frequencies_of(plain)[17] / frequencies_of(config)[17], 13.76,
              0.005);
  EXPECT_NEAR(rotary_of(config).attention_factor(), 1.3466, 5e-5);
  yarn.truncate = true;
  config.scaling = yarn;
  EXPECT_NEAR(frequencies_of(plain)[17] / frequencies_of(config)[17], 7.80,
              0.005);
  EXPECT_EQ(frequencies_of(config)[0], 1);
  EXPECT_EQ(frequencies_of(config)[31], frequencies_of(plain)[31] / 32);
  yarn.attention_factor = 1.25;
  config.scaling = yarn;
  EXPECT_EQ(rotary_of(config).attention_factor(), 1.25);
  const auto [cos, sin] = angles_of(rotary_of(config), 0);
  EXPECT_EQ(cos[5], 1.25f);
  EXPECT_EQ(sin[5], 0);
}

TEST(RotaryScalingTest, LongRopeDividesEachPair) {
  const RotaryConfig plain = {.rotary_dim = 6, .base = 100};
  RotaryConfig config = plain;
  config.scaling =
      LongRopeScaling{.factors = {1, 2.5, 40}, .attention_factor = 1.25};
  const auto before = frequencies_of(plain);
  const auto after = frequencies_of(config);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1], before[1] / 2.5);
  EXPECT_EQ(after[2], before[2] / 40);
  EXPECT_EQ(rotary_of(config).attention_factor(), 1.25);
}

// ---- Errors. ----

auto is_refused(std::string argument, std::vector<std::string> given,
                std::vector<std::string> expected) {
  return HasError({.code = ErrorCode::invalid_argument,
                   .operation = "rotary",
                   .argument = std::move(argument),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

TEST(RotaryErrorsTest, SizesAndBases) {
  for (const std::size_t dim : {0u, 7u}) {
    EXPECT_THAT(Rotary::create({.rotary_dim = dim}),
                is_refused("rotary_dim", {std::to_string(dim)}, {"even"}));
  }
  for (const double base :
       {0.5, 0.0, -3.0, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(Rotary::create({.rotary_dim = 4, .base = base}),
                is_refused("base", {}, {"1"}))
        << base;
  }
}

TEST(RotaryErrorsTest, ScalingRules) {
  const auto with = [](const RotaryScaling& rule, double base = 10000) {
    return Rotary::create({.rotary_dim = 4, .base = base, .scaling = rule});
  };
  const auto factor = is_refused("scaling.factor", {"0.5"}, {"1"});
  EXPECT_THAT(with(LinearScaling{0.5}), factor);
  EXPECT_THAT(with(NtkScaling{0.5}), factor);
  EXPECT_THAT(with(YarnScaling{.factor = 0.5, .original_length = 4}), factor);
  EXPECT_THAT(with(Llama3Scaling{.factor = 0.5, .original_length = 4}), factor);
  const auto length = is_refused("scaling.original_length", {"0"}, {"length"});
  EXPECT_THAT(with(YarnScaling{.factor = 2}), length);
  EXPECT_THAT(with(Llama3Scaling{.factor = 2}), length);
  EXPECT_THAT(with(Llama3Scaling{.factor = 2,
                                 .low_freq_factor = 4,
                                 .high_freq_factor = 4,
                                 .original_length = 4}),
              is_refused("scaling.high_freq_factor", {"4"}, {"4"}));
  EXPECT_THAT(
      with(YarnScaling{
          .factor = 2, .original_length = 4, .beta_fast = 1, .beta_slow = 2}),
      is_refused("scaling.beta_fast", {"1"}, {"2"}));
  EXPECT_THAT(with(YarnScaling{
                  .factor = 2, .original_length = 4, .attention_factor = -1}),
              is_refused("scaling.attention_factor", {"-1"}, {"0"}));
  EXPECT_THAT(with(YarnScaling{.factor = 2, .original_length = 4}, 1),
              is_refused("base", {"1"}, {"1"}));
  EXPECT_THAT(Rotary::create({.rotary_dim = 2, .scaling = NtkScaling{2}}),
              is_refused("rotary_dim", {"2"}, {"4"}));
  EXPECT_THAT(with(LongRopeScaling{.factors = {1, 2, 3}}),
              is_refused("scaling.factors", {"3"}, {"2"}));
  EXPECT_THAT(with(LongRopeScaling{.factors = {0.5, 2}}),
              is_refused("scaling.factors", {"0.5"}, {"1 or greater"}));
  EXPECT_THAT(with(LongRopeScaling{.factors = {1, 1}, .attention_factor = 0}),
              is_refused("scaling.attention_factor", {"0"}, {"above 0"}));
}

TEST(RotaryErrorsTest, NumbersThatNoRuleTakes) {
  const auto with = [](const RotaryScaling& rule) {
    return Rotary::create({.rotary_dim = 8, .scaling = rule});
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double bad : {kNaN, kInfinite, -kInfinite, -2.0, 0.0}) {
    SCOPED_TRACE(bad);
    const auto factor = is_refused("scaling.factor", {}, {"1 or greater"});
    EXPECT_THAT(with(LinearScaling{bad}), factor);
    EXPECT_THAT(with(NtkScaling{bad}), factor);
    EXPECT_THAT(with(YarnScaling{.factor = bad, .original_length = 4}), factor);
    EXPECT_THAT(with(Llama3Scaling{.factor = bad, .original_length = 4}),
                factor);
    const auto turns = is_refused("scaling.beta_fast", {}, {"above 0"});
    YarnScaling yarn{.factor = 2, .original_length = 4};
    yarn.beta_slow = bad;
    EXPECT_THAT(with(yarn), turns);
    yarn = {.factor = 2, .original_length = 4};
    yarn.beta_fast = bad;
    EXPECT_THAT(with(yarn), turns);
    yarn = {.factor = 2, .original_length = 4, .attention_factor = bad};
    EXPECT_THAT(with(yarn),
                is_refused("scaling.attention_factor", {}, {"above 0"}));
    const auto wavelengths =
        is_refused("scaling.high_freq_factor", {}, {"above 0"});
    Llama3Scaling llama3{.factor = 2, .original_length = 4};
    llama3.low_freq_factor = bad;
    EXPECT_THAT(with(llama3), wavelengths);
    llama3 = {.factor = 2, .original_length = 4};
    llama3.high_freq_factor = bad;
    EXPECT_THAT(with(llama3), wavelengths);
  }
  EXPECT_THAT(with(Llama3Scaling{.factor = 2,
                                 .low_freq_factor = 5,
                                 .high_freq_factor = 4,
                                 .original_length = 4}),
              is_refused("scaling.high_freq_factor", {"4"}, {"5"}));
}

// The ramp may end behind the last pair; where it would end before it begins,
// it is a step.
TEST(RotaryScalingTest, YarnRampsAreCutOffAtTheirEnds) {
  const auto divisors = [](std::size_t length, double base) {
    const RotaryConfig plain = {.rotary_dim = 16, .base = base};
    RotaryConfig config = plain;
    config.scaling = YarnScaling{.factor = 4, .original_length = length};
    std::vector<double> quotients;
    for (std::size_t p = 0; p < 8; ++p) {
      quotients.push_back(frequencies_of(plain)[p] / frequencies_of(config)[p]);
    }
    return quotients;
  };
  // Pair 5.2 turns 32 times in 4096 tokens, and pair 11.3 would turn once.
  const auto cut = divisors(4096, 100);
  EXPECT_EQ(cut[5], 1);
  EXPECT_NEAR(cut[6], 1 / (1 - 0.75 * 1 / 7), 1e-12);
  EXPECT_NEAR(cut[7], 1 / (1 - 0.75 * 2 / 7), 1e-12);
  EXPECT_THAT(divisors(std::size_t{1} << 60, 100), testing::Each(1));
  const auto rare = divisors(1, 100);
  EXPECT_EQ(rare[1], 4);
  EXPECT_EQ(rare[7], 4);
}

// Whatever a rule takes gives frequencies between those of the base and those
// divided by the factor.
TEST(RotaryScalingTest, ExtremeRulesStayBetweenTheTwoFrequencies) {
  constexpr double kSmallest = std::numeric_limits<double>::min();
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr auto kLongest = std::numeric_limits<std::size_t>::max();
  for (const double base : {1 + 0x1p-52, 10000.0, kLargest}) {
    const auto plain = frequencies_of({.rotary_dim = 16, .base = base});
    for (const std::size_t length : {std::size_t{1}, kLongest}) {
      for (const auto& [low, high] :
           {std::pair(kSmallest, kLargest), {kSmallest, 2 * kSmallest}}) {
        for (const RotaryScaling& rule :
             {RotaryScaling(YarnScaling{.factor = 8,
             .original_length = length,
             .beta_fast = high,
             .beta_slow = low}),
              RotaryScaling(Llama3Scaling{.factor = 8,
              .low_freq_factor = low,
              .high_freq_factor = high,
              .original_length = length})}) {
          const auto scaled =
              frequencies_of({.rotary_dim = 16, .base = base, .scaling = rule});
          for (std::size_t p = 0; p < 8; ++p) {
            EXPECT_GE(scaled[p], plain[p] / 8 * (1 - 1e-15)) << p;
            EXPECT_LE(scaled[p], plain[p] * (1 + 1e-15)) << p;
          }
        }
      }
    }
  }
}

TEST(RotaryErrorsTest, Tables) {
  const auto cos = filled<float, 2>({5, 3}, 1);
  const auto sin = filled<float, 2>({5, 2}, 0);
  EXPECT_THAT(Rotary::from_tables(cos, sin),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "sin",
                        .given = {"(5, 2)"},
                        .expected = {"(5, 3)"}}));
  for (const Extents<2>& empty : {Extents<2>{0, 3}, {5, 0}, {0, 0}}) {
    const TensorView<const float, 2> table(cos.data(), empty);
    EXPECT_THAT(Rotary::from_tables(table, table),
                is_refused("cos", {}, {"at least one position and one pair"}));
  }
}

TEST(RotaryErrorsTest, NothingIsWrittenForAWrongCall) {
  const Rotary rotary = rotary_of({.rotary_dim = 6});
  const auto table = filled<float, 2>({4, 3}, 1);
  const Rotary tables = Rotary::from_tables(table, table).value();
  const auto x = uniform<4>({2, 3, 2, 6}, 9);
  auto y = filled<float, 4>(x.extents(), -7);
  const auto refuses = [&](const Rotary& with, const RotaryPositions& at,
                           std::string argument, std::string given) {
    EXPECT_THAT(with.rotate(x, y, at),
                HasError({.code = ErrorCode::out_of_range,
                          .operation = "rotary",
                          .argument = std::move(argument),
                          .given = {std::move(given)}}));
  };
  auto positions = filled<std::int64_t, 2>({2, 3}, 3);
  positions(1, 2) = -1;
  refuses(rotary, {.positions = positions}, "positions[1][2]", "-1");
  positions(1, 2) = kLast + 1;
  refuses(rotary, {.positions = positions}, "positions[1][2]", "2147483648");
  positions(1, 2) = 4;
  refuses(tables, {.positions = positions}, "positions[1][2]", "4");
  refuses(tables, {.start = 2}, "positions.start", "2");
  refuses(rotary, {.start = -1}, "positions.start", "-1");
  refuses(rotary, {.start = kLast - 1}, "positions.start", "2147483646");
  const auto other = filled<std::int64_t, 2>({3, 2}, 0);
  EXPECT_THAT(rotary.rotate(x, y, {.positions = other}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "positions",
                        .given = {"(3, 2)"},
                        .expected = {"(2, 3)"}}));
  const auto narrow = uniform<4>({2, 3, 3, 4}, 9);
  EXPECT_THAT(rotary.rotate(narrow, y),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "y"}));
  auto narrow_y = filled<float, 4>(narrow.extents(), -7);
  EXPECT_THAT(rotary.rotate(narrow, narrow_y),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "x",
                        .given = {"4"},
                        .expected = {"6"}}));
  const TensorView<const float, 4> across(x.data(), {2, 3, 2, 6},
                                          {36, 12, 1, 2});
  EXPECT_THAT(rotary.rotate(across, y), is_refused("x", {"2"}, {"1"}));
  EXPECT_THAT(rotary.rotate_back(across, y), is_refused("d_y", {"2"}, {"1"}));
  const TensorView<float, 4> shifted(y.data() + 6, {1, 3, 2, 6});
  EXPECT_THAT(rotary.rotate(TensorView<const float, 4>(y.data(), {1, 3, 2, 6}),
                            shifted),
              is_refused("y", {"x"}, {}));
  EXPECT_TRUE(
      std::ranges::all_of(y.elements(), [](float e) { return e == -7; }));
  EXPECT_THAT(rotary.angles(0, {}, {}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "rotary",
                        .argument = "cos",
                        .given = {"(0)"},
                        .expected = {"(3)"}}));
}

}  // namespace
}  // namespace headwise::testing_support
