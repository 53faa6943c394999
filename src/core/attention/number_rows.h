// Rows and elements of a query, key, value or output, or of the gradient of
// one, in any of the types that these may have. Inner code takes a TensorArg,
// so that only what reads and writes single elements is compiled for each type.
#pragma once

#include <cstddef>

#include "base/for_number_type.h"
#include "headwise/base/half.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI {

// Below, Void is void, or const void of a tensor (B, L, H, D) that is only
// read.

// Calls body(view) with the TensorView of the tensor's type.
template <class Void, class Body>
decltype(auto) visit_numbers(const TensorArg& tensor, const Body& body) {
  return for_number_type(tensor.dtype(), [&](auto number) -> decltype(auto) {
    using T =
        typename kernels::NumberRows<Void>::template Element<decltype(number)>;
    return body(tensor.view<T, 4>());
  });
}

template <class Void>
kernels::NumberRows<Void> number_rows_along(const TensorArg& tensor,
                                            std::size_t axis, std::size_t b,
                                            std::size_t row, std::size_t h,
                                            std::size_t count) {
  return visit_numbers<Void>(tensor, [&](const auto& view) {
    Void* data = &view(b, row, h, 0);
    return kernels::NumberRows<Void>(data, tensor.dtype(), count,
                                     tensor.stride(axis), tensor.stride(3));
  });
}

// The rows [first, first + count) of head h of sequence b.
template <class Void>
kernels::NumberRows<Void> number_rows(const TensorArg& tensor, std::size_t b,
                                      std::size_t first, std::size_t h,
                                      std::size_t count) {
  return number_rows_along<Void>(tensor, 1, b, first, h, count);
}
// Row `row` of each of the heads [first, first + count) of sequence b.
template <class Void>
kernels::NumberRows<Void> number_rows_of_heads(const TensorArg& tensor,
                                               std::size_t b, std::size_t row,
                                               std::size_t first,
                                               std::size_t count) {
  return number_rows_along<Void>(tensor, 2, b, row, first, count);
}

}  // namespace headwise::inline HEADWISE_ABI
