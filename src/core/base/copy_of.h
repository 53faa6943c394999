// A tensor with the elements of a view of any strides, in C order.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {
namespace detail {

// Copies the elements that `axis` and later axes lead to from `from` on.
// Returns the place behind the last copy.
template <std::size_t axis, class View, class T>
T* copy_elements(const View& view, const T* from, T* to) {
  for (std::size_t n = 0; n < view.extent(axis); ++n) {
    const T* const at =
        from + static_cast<std::ptrdiff_t>(n) * view.stride(axis);
    if constexpr (axis + 1 == View::rank()) {
      *to++ = *at;
    } else {
      to = copy_elements<axis + 1>(view, at, to);
    }
  }
  return to;
}

}  // namespace detail

// Errors: out_of_memory.
template <Viewable X>
auto copy_of(X&& tensor) {
  using View = ViewOf<X>;
  using T = typename View::value_type;
  const View view(tensor);
  auto copy = Tensor<T, View::rank()>::create_unset(view.extents());
  if (copy) {
    detail::copy_elements<0, View, T>(view, view.data(), copy->data());
  }
  return copy;
}

}  // namespace headwise::inline HEADWISE_ABI
