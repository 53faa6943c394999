#include "headwise/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace headwise {
namespace {

// The number that a binary16 is, by its definition.
double value_of(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  return sign * (exponent == 0
                     ? fraction * 0x1p-24
                     : std::ldexp(1 + fraction / 1024, exponent - 15));
}

TEST(HalfTest, EveryFloat16IsWidenedExactlyAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 x{static_cast<std::uint16_t>(bits)};
    const bool finite = (bits & 0x7c00) != 0x7c00;
    const float wide = widened(x);
    if (finite) {
      ASSERT_EQ(double{wide}, value_of(x.bits)) << bits;
      ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << bits;
      ASSERT_EQ(narrowed<Float16>(wide).bits, x.bits);
    } else if ((bits & 0x3ff) == 0) {
      ASSERT_TRUE(std::isinf(wide));
      ASSERT_EQ(narrowed<Float16>(wide).bits, x.bits);
    } else {
      ASSERT_TRUE(std::isnan(wide));
      ASSERT_TRUE(std::isnan(widened(narrowed<Float16>(wide))));
    }
  }
}

// Between two neighbours the nearer one, in the middle the even one.
template <class T>
void expect_rounding(std::uint16_t first, std::uint16_t last) {
  for (std::uint32_t bits = first; bits < last; ++bits) {
    const T low{static_cast<std::uint16_t>(bits)};
    const T high{static_cast<std::uint16_t>(bits + 1)};
    const float middle = widened(low) + (widened(high) - widened(low)) / 2;
    const T even = bits % 2 == 0 ? low : high;
    ASSERT_EQ(narrowed<T>(middle).bits, even.bits) << bits;
    ASSERT_EQ(narrowed<T>(std::nextafter(middle, 0.0F)).bits, low.bits) << bits;
    ASSERT_EQ(narrowed<T>(std::nextafter(middle, INFINITY)).bits, high.bits)
        << bits;
    ASSERT_EQ(narrowed<T>(-middle).bits, even.bits | 0x8000) << bits;
  }
}

TEST(HalfTest, Float16RoundsToNearestEven) {
  expect_rounding<Float16>(0, 0x7bff);
}
TEST(HalfTest, BFloat16RoundsToNearestEven) {
  constexpr std::uint16_t kSmallestNormal = 0x80;
  expect_rounding<BFloat16>(kSmallestNormal, 0x7f7f);
}

TEST(HalfTest, ADenormalFloat32IsABFloat16OfZeroWithItsSign) {
  for (const float x :
       {0.0F, std::numeric_limits<float>::denorm_min(), 0x1p-127F,
        std::nextafter(std::numeric_limits<float>::min(), 0.0F)}) {
    EXPECT_EQ(narrowed<BFloat16>(x).bits, 0) << x;
    EXPECT_EQ(narrowed<BFloat16>(-x).bits, 0x8000) << x;
  }
}

TEST(HalfTest, WhatIsTooLargeIsInfinite) {
  EXPECT_EQ(narrowed<Float16>(65519.9F).bits, 0x7bff);
  EXPECT_EQ(narrowed<Float16>(65520.0F).bits, 0x7c00);
  EXPECT_EQ(narrowed<Float16>(-1e30F).bits, 0xfc00);
  EXPECT_EQ(narrowed<BFloat16>(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(HalfTest, ANaNStaysOne) {
  // One whose payload is in the bits that are cut off.
  const auto nan = std::bit_cast<float>(0x7f800001U);
  EXPECT_TRUE(std::isnan(widened(narrowed<BFloat16>(nan))));
  EXPECT_TRUE(std::isnan(widened(narrowed<Float16>(nan))));
}

}  // namespace
}  // namespace headwise
