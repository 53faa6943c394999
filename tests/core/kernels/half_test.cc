// How 16-bit rows come into a tile and out of it, on every instruction set: the
// numbers are those of headwise/base/half.h, and their places those of float
// rows.
#include "headwise/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/attention_tile.h"
#include "kernels/gradient_tile.h"
#include "kernels/tile_layout.h"
#include "run/float_environment.h"
#include "support/half_tensors.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using kernels::kValuePanel;
using kernels::NumberRows;
using kernels::Rows;
using kernels::RowState;
using kernels::TileLayout;

constexpr std::size_t kHalves = 0x10000;

template <class T>
bool same_number(T got, T want) {
  const auto bits_of = [](T x) {
    if constexpr (std::is_same_v<T, float>) {
      return bits(x);
    } else {
      return x.bits;
    }
  };
  return bits_of(got) == bits_of(want) || (std::isnan(headwise::widened(got)) &&
                                           std::isnan(headwise::widened(want)));
}

// Calls body() as the library computes, then without flushing denormals.
template <class Body>
void in_both_environments(const Body& body) {
  for (const bool flush : {true, false}) {
    std::optional<FloatEnvironment> environment;
    if (flush) {
      environment.emplace();
    }
    body();
  }
}

class HalfKernelTest : public TargetTest {};

template <class T>
void expect_every_number_is_widened() {
  auto halves = Tensor<T, 1>::create({kHalves}).value();
  auto want = Tensor<float, 1>::create({kHalves}).value();
  for (std::size_t n = 0; n < kHalves; ++n) {
    halves(n) = {static_cast<std::uint16_t>(n)};
    want(n) = widened(halves(n));
  }
  const Rows<const T> rows{halves.data(), 1, kHalves, 1};
  in_both_environments([&] {
    auto got = filled<float, 1>({kHalves}, 42);
    kernels::tile_layout().pack_keys(rows, kHalves, got.data());
    for (std::size_t n = 0; n < kHalves; ++n) {
      ASSERT_TRUE(same_number(got(n), want(n))) << n << " is " << got(n);
      ASSERT_TRUE(same_number(widened(halves(n)), want(n))) << n;
    }
  });
}

TEST_P(HalfKernelTest, EveryFloat16IsWidenedExactly) {
  expect_every_number_is_widened<Float16>();
}
TEST_P(HalfKernelTest, EveryBFloat16IsWidenedExactly) {
  expect_every_number_is_widened<BFloat16>();
}

// Every number of 16 bits, what is in the middle of two of them and next to it,
// and what has no neighbours.
template <class T>
Tensor<float, 1> numbers_around_boundaries() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {
      kInf,       -kInf,     std::numeric_limits<float>::max(),
      65519.996F, 65520,     std::numeric_limits<float>::quiet_NaN(),
      0x1p-149F,  -0x1p-127F};
  for (std::uint32_t n = 0; n + 1 < kHalves; ++n) {
    const float low = widened(T{static_cast<std::uint16_t>(n)});
    const float high = widened(T{static_cast<std::uint16_t>(n + 1)});
    if (!std::isfinite(low) || !std::isfinite(high) ||
        std::signbit(low) != std::signbit(high)) {
      continue;
    }
    const float middle = low + (high - low) / 2;
    for (const float x : {low, middle, std::nextafter(middle, -kInf),
                          std::nextafter(middle, kInf)}) {
      numbers.push_back(x);
    }
  }
  return tensor_of<float, 1>({numbers.size()}, numbers);
}

template <class T>
void expect_rounding_to_nearest_even() {
  const auto numbers = numbers_around_boundaries<T>();
  const std::size_t count = numbers.size();
  const std::size_t size = (count + 15) / 16 * 16;
  auto packed = filled<float, 1>({size}, 0);
  std::copy_n(numbers.data(), count, packed.data());
  in_both_environments([&] {
    auto got = Tensor<T, 1>::create({count}).value();
    kernels::tile_layout().store_rows(
        packed.data(), 1, count, size,
        Rows<T>{got.data(), 1, static_cast<std::ptrdiff_t>(count), 1});
    for (std::size_t n = 0; n < count; ++n) {
      const T want = narrowed<T>(numbers(n));
      ASSERT_TRUE(same_number(got(n), want))
          << numbers(n) << " became " << got(n).bits << ", expected "
          << want.bits;
    }
  });
}

TEST_P(HalfKernelTest, Float16RoundsToNearestEven) {
  expect_rounding_to_nearest_even<Float16>();
}
TEST_P(HalfKernelTest, BFloat16RoundsToNearestEven) {
  expect_rounding_to_nearest_even<BFloat16>();
}

// The rows of a tensor (count, columns, gap), of which the first of each gap is
// an element.
template <class T>
auto rows_of(T* data, std::size_t count, std::size_t columns, std::size_t gap) {
  return Rows<T>{data, count, static_cast<std::ptrdiff_t>(columns * gap),
                 static_cast<std::ptrdiff_t>(gap)};
}

// Everything that is packed from rows of T is what is packed from the same rows
// of float.
template <class T>
void expect_same_packing(std::size_t count, std::size_t D, std::size_t gap) {
  const auto halves = narrowed_to<T>(uniform<1>({count * D * gap}, 7));
  const auto floats = widened_to_float(halves);
  const auto of_halves = rows_of(halves.data(), count, D, gap);
  const auto of_floats = rows_of(floats.data(), count, D, gap);
  const TileLayout& loops = kernels::tile_layout();
  const auto expect_same = [&](const char* name, std::size_t size,
                               const auto& pack) {
    auto got = filled<float, 1>({size}, 42);
    auto want = filled<float, 1>({size}, 42);
    pack(NumberRows<const void>(of_halves), got.data());
    pack(NumberRows<const void>(of_floats), want.data());
    EXPECT_TRUE(same_bits(got, want)) << name << " of " << count << " x " << D;
  };
  const std::size_t vector = kernels::attention_tile().vector_lanes;
  const std::size_t lanes = (count + vector - 1) / vector * vector;
  expect_same("pack_queries", D * lanes, [&](const auto& rows, float* to) {
    loops.pack_queries(rows, D, 0.3F, lanes, to);
  });
  expect_same("pack_keys", count * D, [&](const auto& rows, float* to) {
    loops.pack_keys(rows, D, to);
  });
  const std::size_t size = kernels::row_size(D);
  expect_same("pack_rows", count * size, [&](const auto& rows, float* to) {
    EXPECT_TRUE(loops.pack_rows(rows, D, size, to));
  });
  const std::size_t panels = kernels::value_columns(D) / kValuePanel *
                             kernels::value_panel_size(count);
  expect_same("pack_values", panels, [&](const auto& rows, float* to) {
    EXPECT_TRUE(loops.pack_values(rows, D, to));
  });
}

// Everything that is stored to rows of T is what is stored to rows of float,
// rounded.
template <class T>
void expect_same_stores(std::size_t count, std::size_t D, std::size_t gap) {
  const TileLayout& loops = kernels::tile_layout();
  const std::size_t vector = kernels::attention_tile().vector_lanes;
  const std::size_t lanes = (count + vector - 1) / vector * vector;
  const std::size_t size = kernels::row_size(D);
  const auto tile = uniform<1>({std::max(D * lanes, count * size)}, 8);
  const auto sum = uniform<1>({lanes}, 9, 1, 2);
  const auto expect_same = [&](const char* name, const auto& store) {
    auto halves = narrowed_to<T>(filled<float, 1>({count * D * gap}, 42));
    auto floats = filled<float, 1>({count * D * gap}, 42);
    store(NumberRows<void>(rows_of(halves.data(), count, D, gap)));
    store(NumberRows<void>(rows_of(floats.data(), count, D, gap)));
    EXPECT_TRUE(same_bits(widened_to_float(halves), rounded_to<T>(floats)))
        << name << " of " << count << " x " << D;
  };
  expect_same("store", [&](const auto& rows) {
    loops.store(tile.data(), sum.data(), D, lanes, rows);
  });
  expect_same("store_scaled", [&](const auto& rows) {
    loops.store_scaled(tile.data(), 0.7F, D, lanes, rows);
  });
  expect_same("store_rows", [&](const auto& rows) {
    loops.store_rows(tile.data(), 0.7F, D, size, rows);
  });
}

TEST_P(HalfKernelTest, RowsOfEverySizeHaveTheNumbersOfFloatRows) {
  for (const std::size_t D : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u}) {
    for (const std::size_t count : {1u, 3u, 8u, 13u, 16u}) {
      for (const std::size_t gap : {1u, 2u}) {
        expect_same_packing<BFloat16>(count, D, gap);
        expect_same_packing<Float16>(count, D, gap);
        expect_same_stores<BFloat16>(count, D, gap);
        expect_same_stores<Float16>(count, D, gap);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, HalfKernelTest, testing::ValuesIn(targets()),
                         target_name);

}  // namespace
}  // namespace headwise::testing_support
