// 16-bit floating-point numbers, for storage: bfloat16 (8 bits of exponent, 7
// of fraction) and float16 (IEEE binary16). Widening is exact, narrowing rounds
// to nearest even; NaN stays NaN, and what is too large becomes infinite. A
// denormal float32 becomes a zero of its sign, as in all arithmetic here;
// denormal float16 numbers are exact both ways. The results do not depend on
// whether the processor flushes denormal numbers to zero.
#pragma once

#include <bit>
#include <cstdint>

#include "headwise/base/dtype.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Uninitialised by default, as float is.
struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

constexpr float widened(BFloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

constexpr float widened(Float16 x) {
  const std::uint32_t sign = std::uint32_t{x.bits & 0x8000U} << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  if (magnitude < 0x400U) {  // 0 or denormal: a multiple of 2^-24
    const float exact = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(exact));
  }
  // The exponent's bias changes from 15 to 127.
  const std::uint32_t bits = magnitude >= 0x7c00U
                                 ? (magnitude << 13) | 0x7f800000U
                                 : (magnitude << 13) + 0x38000000U;
  return std::bit_cast<float>(sign | bits);
}

// For templates.
constexpr float widened(float x) { return x; }

constexpr BFloat16 narrowed_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};  // a quiet NaN
  }
  if ((bits & 0x7f800000U) == 0) {  // 0 or denormal
    return {static_cast<std::uint16_t>((bits >> 16) & 0x8000U)};
  }
  const std::uint32_t half_up = 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>((bits + half_up) >> 16)};
}

constexpr Float16 narrowed_to_float16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  }
  if (magnitude >= 0x477ff000U) {  // 65520, from which all round to infinity
    return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: a multiple of 2^-24
    // The last bit of 0.5 in float32 is 2^-24, so the addition rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000U))};
  }
  const std::uint32_t half_up = 0xfffU + ((magnitude >> 13) & 1U);
  return {static_cast<std::uint16_t>(
      sign | ((magnitude - 0x38000000U + half_up) >> 13))};
}

template <class T>
constexpr T narrowed(float x);
template <>
constexpr float narrowed<float>(float x) {
  return x;
}
template <>
constexpr BFloat16 narrowed<BFloat16>(float x) {
  return narrowed_to_bfloat16(x);
}
template <>
constexpr Float16 narrowed<Float16>(float x) {
  return narrowed_to_float16(x);
}

template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::float16;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
