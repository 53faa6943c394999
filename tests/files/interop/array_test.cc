#include "headwise/interop/array.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
Array array_of(DType dtype, const std::vector<T>& values) {
  Array array{dtype, {values.size()}, AlignedBytes(values.size() * sizeof(T))};
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

std::vector<float> floats(const Array& array) {
  const auto tensor = to_float<1>(array, "test", "x");
  EXPECT_TRUE(tensor) << tensor.error().message();
  return {tensor->elements().begin(), tensor->elements().end()};
}

// The value of a float16 by its definition.
double half_value(unsigned bits) {
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const double fraction = bits & 0x3ff;
  if (exponent == 0) {
    return sign * std::ldexp(fraction, -24);
  }
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(ArrayTest, EveryFloat16IsWidenedExactly) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<std::uint16_t>(i);
  }
  const std::vector<float> wide = floats(array_of(DType::float16, bits));
  for (unsigned i = 0; i < 65536; ++i) {
    const double expected = half_value(i);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(static_cast<double>(wide[i]), expected) << i;
      ASSERT_EQ(std::signbit(wide[i]), std::signbit(expected)) << i;
    }
  }
}

TEST(ArrayTest, Bfloat16IsTheUpperHalfOfAFloat32) {
  const std::vector<std::uint16_t> bits = {0x3f80, 0xc049, 0xff80};
  EXPECT_THAT(floats(array_of(DType::bfloat16, bits)),
              ElementsAre(1.0f, -3.140625f, -kInf));
}

TEST(ArrayTest, Float64IsRoundedToTheNearestFloat32) {
  const std::vector<double> values = {
      0.1,    0x1.000001p0, 0x1.000003p0, 0x1.fffffefffffffp127,
      -1e300, 1e-300,       -kInf};
  EXPECT_THAT(
      floats(array_of(DType::float64, values)),
      ElementsAre(0.1f, 1.0f, 0x1.000004p0f, std::numeric_limits<float>::max(),
                  -kInf, 0.0f, -kInf));
}

TEST(ArrayTest, IntegersOfEveryWidthBecomeFloats) {
  EXPECT_THAT(floats(array_of<std::int8_t>(DType::int8, {-128, 127})),
              ElementsAre(-128.0f, 127.0f));
  EXPECT_THAT(floats(array_of<std::uint8_t>(DType::uint8, {255})),
              ElementsAre(255.0f));
  EXPECT_THAT(floats(array_of<std::int16_t>(DType::int16, {-32768})),
              ElementsAre(-32768.0f));
  EXPECT_THAT(floats(array_of<std::uint16_t>(DType::uint16, {65535})),
              ElementsAre(65535.0f));
  EXPECT_THAT(floats(array_of<std::int32_t>(DType::int32, {-16777217})),
              ElementsAre(-16777216.0f));
  EXPECT_THAT(floats(array_of<std::uint32_t>(DType::uint32, {4294967295u})),
              ElementsAre(4294967296.0f));
  EXPECT_THAT(floats(array_of<std::int64_t>(DType::int64, {-(1ll << 40)})),
              ElementsAre(-0x1p40f));
  EXPECT_THAT(floats(array_of<std::uint64_t>(DType::uint64, {~0ull})),
              ElementsAre(0x1p64f));
}

TEST(ArrayTest, MaskAsNumbersAndNumbersAsMaskAreErrors) {
  const Array mask = array_of<char>(DType::boolean, {1, 0});
  const Array bias = array_of<float>(DType::float32, {0, 1});
  const auto is_of_type = [](std::string argument, std::string given,
                             std::string expected) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .operation = "attention",
                     .argument = std::move(argument),
                     .given = {std::move(given)},
                     .expected = {std::move(expected)}});
  };
  EXPECT_THAT(to_float<1>(mask, "attention", "bias"),
              is_of_type("bias", "bool", "numbers"));
  EXPECT_THAT(to_bool<1>(bias, "attention", "mask"),
              is_of_type("mask", "float32", "bool"));
  EXPECT_THAT(to_int64<1>(bias, "attention", "tokens"),
              is_of_type("tokens", "float32", "integers"));
  EXPECT_THAT(to_int64<1>(mask, "attention", "tokens"),
              is_of_type("tokens", "bool", "integers"));
}

TEST(ArrayTest, IntegersAreAMaskIfAllAre0Or1) {
  const auto mask =
      to_bool<1>(array_of<std::int32_t>(DType::int32, {0, 1, 1, 0}), "test",
                 "mask")
          .value();
  EXPECT_THAT(mask.elements(), ElementsAre(false, true, true, false));
  const auto error_of = [](std::vector<std::int64_t> elements) {
    return to_bool<1>(array_of<std::int64_t>(DType::int64, elements), "test",
                      "mask")
        .error();
  };
  for (const auto& [elements, other, looks] :
       {std::tuple(std::vector<std::int64_t>{0, -10000}, "-10000", "added"),
        {{0, -1}, "-1", "added"},
        {{0, 255}, "255", "255 for true"},
        {{1, 2}, "2", "look like ids"},
        {{0, 3, 5}, "3", "look like ids"}}) {
    const Error error = error_of(elements);
    EXPECT_EQ(error.code(), ErrorCode::out_of_range);
    EXPECT_EQ(error.details().argument, "mask");
    EXPECT_THAT(error.details().given.text(), HasSubstr(other));
    EXPECT_THAT(error.details().hint.text(), HasSubstr(looks));
  }
}

TEST(ArrayTest, Uint64BeyondInt64IsAnErrorThatSaysWhere) {
  const std::uint64_t last = std::uint64_t{1} << 63;
  const auto fits =
      to_int64<1>(array_of<std::uint64_t>(DType::uint64, {0, last - 1}), "test",
                  "tokens")
          .value();
  EXPECT_THAT(fits.elements(),
              ElementsAre(0, std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(to_int64<1>(array_of<std::uint64_t>(DType::uint64, {0, 0, last}),
                          "attention", "tokens"),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "attention",
                        .argument = "tokens",
                        .given = {"9223372036854775808", "(2)"},
                        .expected = {"2^63 - 1"}}));
}

TEST(ArrayTest, AnotherRankIsAnErrorThatShowsTheShape) {
  const Array array{DType::float32, {2, 3}, AlignedBytes(24)};
  EXPECT_THAT(to_float<4>(array, "attention", "query"),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "attention",
                        .argument = "query",
                        .given = {"(2, 3)"},
                        .expected = {"4"}}));
}

TEST(ArrayTest, ArrayWhoseDataDoNotFitItsShapeIsAnError) {
  const Array array{DType::float32, {2, 3}, AlignedBytes(23)};
  EXPECT_THAT(to_float<2>(array, "attention", "query"),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "attention",
                        .argument = "query",
                        .given = {"23"},
                        .expected = {"(2, 3)"}}));
  const Array overflow{DType::float32, {std::size_t{1} << 62}, {}};
  EXPECT_FALSE(to_float<1>(overflow, "attention", "query"));
}

TEST(ArrayTest, ScalarBecomesATensorWithoutAxes) {
  Array array = array_of<float>(DType::float32, {2.5f});
  array.shape.clear();
  const auto tensor = to_float<0>(array, "test", "x").value();
  EXPECT_THAT(tensor.elements(), ElementsAre(2.5f));
}

TEST(ArrayTest, DataLieOnABoundaryOf64) {
  for (const std::size_t bytes : {1u, 100u, 5000u}) {
    const AlignedBytes data(bytes);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(data.data()) % 64, 0u);
  }
}

TEST(ArrayTest, CheckFiniteNamesTheFirstElementThatIsNot) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Array array = array_of<float>(DType::float32, {0, 1, 2, 3, 4, -kInf, nan, 7});
  array.shape = {2, 4};
  const auto is_not_finite = [](std::string argument, std::string value,
                                std::string place, std::string expected) {
    return HasError({.code = ErrorCode::bad_data,
                     .operation = "read",
                     .argument = std::move(argument),
                     .given = {std::move(value), std::move(place)},
                     .expected = {std::move(expected)}});
  };
  EXPECT_THAT(check_finite(array, "read", "w_q.weight"),
              is_not_finite("w_q.weight", "-inf", "(1, 1)", "finite"));
  EXPECT_THAT(
      check_finite(array_of<float>(DType::float32, {-nan}), "read", "w"),
      is_not_finite("w", "nan", "(0)", "finite"));
  EXPECT_THAT(
      check_finite(array_of<double>(DType::float64, {1e300}), "read", "w"),
      is_not_finite("w", "1e+300", "(0)", "float32"));
  EXPECT_FALSE(check_finite(array_of<std::uint16_t>(DType::float16, {0x7c00}),
                            "read", "w"));
  EXPECT_FALSE(check_finite(array_of<std::uint16_t>(DType::bfloat16, {0x7fc0}),
                            "read", "w"));
  EXPECT_TRUE(check_finite(array_of<std::int8_t>(DType::int8, {-1}), "", ""));
  EXPECT_TRUE(check_finite(array_of<float>(DType::float32, {1, 2}), "", ""));
}

}  // namespace
}  // namespace headwise::testing_support
