// Tensors of 16 bits from tensors of float, and back.
#pragma once

#include <cstddef>

#include "headwise/base/half.h"
#include "headwise/base/tensor.h"

namespace headwise::testing_support {

template <class T, std::size_t Rank>
Tensor<T, Rank> narrowed_to(const Tensor<float, Rank>& from) {
  auto to = Tensor<T, Rank>::create(from.extents()).value();
  for (std::size_t n = 0; n < from.size(); ++n) {
    to.data()[n] = narrowed<T>(from.data()[n]);
  }
  return to;
}

template <class T, std::size_t Rank>
Tensor<float, Rank> widened_to_float(const Tensor<T, Rank>& from) {
  auto to = Tensor<float, Rank>::create(from.extents()).value();
  for (std::size_t n = 0; n < from.size(); ++n) {
    to.data()[n] = headwise::widened(from.data()[n]);
  }
  return to;
}

// Each element to the nearest T, as a float.
template <class T, std::size_t Rank>
Tensor<float, Rank> rounded_to(const Tensor<float, Rank>& x) {
  return widened_to_float(narrowed_to<T>(x));
}

}  // namespace headwise::testing_support
