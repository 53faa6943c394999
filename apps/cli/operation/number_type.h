// --dtype: the type of a call's query, key, value and output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "shell/option_row.h"

namespace headwise::cli {

// As typed; float32 where it was not given.
OptionRow dtype_option(std::string& dtype);

// Calls body(T()) with the type of that name.
template <class Body>
decltype(auto) with_dtype(const std::string& dtype, const Body& body) {
  if (dtype == name_of(DType::bfloat16)) {
    return body(BFloat16());
  }
  if (dtype == name_of(DType::float16)) {
    return body(Float16());
  }
  return body(float());
}

// Rounds each element to the type.
inline void round_to(const std::string& dtype, std::span<float> elements) {
  with_dtype(dtype, [&](auto number) {
    for (float& x : elements) {
      x = widened(narrowed<decltype(number)>(x));
    }
  });
}

// The tensor in T. Errors: out_of_memory.
template <class T, std::size_t Rank>
Result<Tensor<T, Rank>> narrow(Tensor<float, Rank> x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    HEADWISE_ASSIGN(auto to, Tensor<T, Rank>::create_unset(x.extents()));
    std::ranges::transform(x.elements(), to.data(),
                           [](float element) { return narrowed<T>(element); });
    return to;
  }
}

// And back.
template <class T, std::size_t Rank>
Result<Tensor<float, Rank>> widen(Tensor<T, Rank> x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    HEADWISE_ASSIGN(auto to, Tensor<float, Rank>::create_unset(x.extents()));
    std::ranges::transform(x.elements(), to.data(),
                           [](T element) { return widened(element); });
    return to;
  }
}

}  // namespace headwise::cli
