// What tests do with tensors: fill them, copy them, compare them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::testing_support {

inline constexpr std::uint32_t kNaNBits = 0x7fc00000;

template <class T, std::size_t Rank>
Tensor<T, Rank> tensor_of(const Extents<Rank>& extents,
                          const std::vector<T>& values) {
  auto tensor = Tensor<T, Rank>::create(extents).value();
  EXPECT_EQ(tensor.size(), values.size());
  std::copy(values.begin(), values.end(), tensor.data());
  return tensor;
}

template <class T, std::size_t Rank>
Tensor<T, Rank> filled(const Extents<Rank>& extents, T value) {
  auto tensor = Tensor<T, Rank>::create(extents).value();
  std::fill_n(tensor.data(), tensor.size(), value);
  return tensor;
}

// Uniform numbers in [low, high), another sequence for each `stream`.
template <std::size_t Rank>
Tensor<float, Rank> uniform(const Extents<Rank>& extents, std::uint32_t stream,
                            double low = -1, double high = 1) {
  auto tensor = Tensor<float, Rank>::create(extents).value();
  RandomStream(Seed{2024}, stream).fill_uniform(tensor.elements(), low, high);
  return tensor;
}

// Booleans, true with probability `share`.
template <std::size_t Rank>
Tensor<bool, Rank> coin_tosses(const Extents<Rank>& extents,
                               std::uint32_t stream, double share = 0.5) {
  const auto numbers = uniform<Rank>(extents, stream, 0, 1);
  auto tosses = Tensor<bool, Rank>::create(extents).value();
  for (std::size_t i = 0; i < tosses.size(); ++i) {
    tosses.data()[i] = numbers.data()[i] < share;
  }
  return tosses;
}

template <class T, std::size_t Rank>
TensorView<const T, Rank> view_of(const Tensor<T, Rank>& tensor) {
  return tensor.view();
}

// The view's elements in C order.
template <class T>
Tensor<std::remove_const_t<T>, 4> copy_of(TensorView<T, 4> view) {
  auto copy = Tensor<std::remove_const_t<T>, 4>::create(view.extents()).value();
  const auto [A, B, C, D] = view.extents();
  for (std::size_t a = 0; a < A; ++a) {
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t c = 0; c < C; ++c) {
        for (std::size_t d = 0; d < D; ++d) {
          copy(a, b, c, d) = view(a, b, c, d);
        }
      }
    }
  }
  return copy;
}

template <std::size_t Rank>
Tensor<double, Rank> widened(const Tensor<float, Rank>& tensor) {
  auto wide = Tensor<double, Rank>::create(tensor.extents()).value();
  std::copy_n(tensor.data(), tensor.size(), wide.data());
  return wide;
}

template <class T, std::size_t Rank>
Tensor<T, Rank> clone(const Tensor<T, Rank>& tensor) {
  return tensor.clone().value();
}

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// Every element has the same bits: NaN equals NaN, +0 differs from -0.
inline testing::AssertionResult same_bits(std::span<const float> got,
                                          std::span<const float> want) {
  if (got.size() != want.size()) {
    return testing::AssertionFailure()
           << got.size() << " elements, expected " << want.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (bits(got[i]) != bits(want[i])) {
      return testing::AssertionFailure()
             << "element " << i << " is " << got[i] << " (bits " << std::hex
             << bits(got[i]) << "), expected " << want[i] << " (bits "
             << bits(want[i]) << ")";
    }
  }
  return testing::AssertionSuccess();
}
template <std::size_t Rank>
testing::AssertionResult same_bits(const Tensor<float, Rank>& got,
                                   const Tensor<float, Rank>& want) {
  if (got.extents() != want.extents()) {
    return testing::AssertionFailure() << "the extents differ";
  }
  return same_bits(got.elements(), want.elements());
}

// |got - want| <= atol + rtol * |want|, NaN for NaN, the same infinity for an
// infinity; says where the distance is largest.
template <class Got, class Want>
testing::AssertionResult all_near(std::span<const Got> got,
                                  std::span<const Want> want, double atol,
                                  double rtol = 0) {
  if (got.size() != want.size()) {
    return testing::AssertionFailure()
           << got.size() << " elements, expected " << want.size();
  }
  std::size_t worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto g = static_cast<double>(got[i]);
    const auto w = static_cast<double>(want[i]);
    if (g == w || (std::isnan(g) && std::isnan(w))) {
      continue;
    }
    const double distance = std::abs(g - w);
    const double room = atol + rtol * std::abs(w);
    const double excess = std::isfinite(distance) && std::isfinite(w)
                              ? distance / room
                              : std::numeric_limits<double>::infinity();
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (worst_excess <= 1) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "element " << worst << " is " << got[worst] << ", expected "
         << want[worst] << ": " << worst_excess << " times the tolerance";
}
template <class Got, class Want, std::size_t Rank>
testing::AssertionResult all_near(const Tensor<Got, Rank>& got,
                                  const Tensor<Want, Rank>& want, double atol,
                                  double rtol = 0) {
  if (got.extents() != want.extents()) {
    return testing::AssertionFailure() << "the extents differ";
  }
  return all_near(got.elements(), want.elements(), atol, rtol);
}

}  // namespace headwise::testing_support
