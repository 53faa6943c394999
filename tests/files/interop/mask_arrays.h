// Masks as files have them.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "headwise/interop/array.h"

namespace headwise::testing_support {

template <class T>
Array array_of(DType dtype, std::vector<std::size_t> shape,
               const std::vector<T>& elements) {
  Array array{dtype, std::move(shape), {}};
  array.data.resize(elements.size() * sizeof(T));
  std::memcpy(array.data.data(), elements.data(), array.data.size());
  return array;
}
inline Array bools(std::vector<std::size_t> shape,
                   const std::vector<std::uint8_t>& elements) {
  return array_of(DType::boolean, std::move(shape), elements);
}
inline Array ints(std::vector<std::size_t> shape,
                  const std::vector<std::int64_t>& elements) {
  return array_of(DType::int64, std::move(shape), elements);
}
inline Array floats(std::vector<std::size_t> shape,
                    const std::vector<float>& elements) {
  return array_of(DType::float32, std::move(shape), elements);
}

}  // namespace headwise::testing_support
