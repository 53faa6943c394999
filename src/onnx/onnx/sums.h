// Elements in the type that sums of products are computed in: double, or for
// integers uint64, which wraps around. A sum is rounded once.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
std::vector<T> terms_of(const Array& array) {
  if constexpr (std::is_same_v<T, double>) {
    return doubles_of(array);
  } else {
    const auto numbers = integers_of(array);
    NodeMemory::use(numbers.size() * sizeof(T));
    return {numbers.begin(), numbers.end()};
  }
}

template <class T>
Result<Array> array_of_sums(const std::vector<T>& sums,
                            std::vector<std::size_t> shape, DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return array_from(sums, std::move(shape), dtype);
  } else {
    return array_from(
        std::span(reinterpret_cast<const std::int64_t*>(sums.data()),
                  sums.size()),
        std::move(shape), dtype);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
