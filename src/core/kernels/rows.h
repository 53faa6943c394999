// Rows of the caller's memory, strides in elements.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/for_number_type.h"
#include "headwise/base/dtype.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

template <class T>
struct Rows {
  T* data;
  std::size_t count;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t stride;  // within a row

  T* row(std::size_t n) const {
    return data + static_cast<std::ptrdiff_t>(n) * row_stride;
  }
  T& at(std::size_t n, std::size_t column) const {
    return row(n)[static_cast<std::ptrdiff_t>(column) * stride];
  }
};

// The same of float, BFloat16 or Float16, whichever a call has. Void is void,
// or const void of rows that are only read.
template <class Void>
struct NumberRows {
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

  NumberRows(Void* rows, DType type, std::size_t n, std::ptrdiff_t between_rows,
             std::ptrdiff_t within_row)
      : data(rows),
        dtype(type),
        count(n),
        row_stride(between_rows),
        stride(within_row) {}
  template <class T>
  NumberRows(  // NOLINT(google-explicit-constructor): as a view
      const Rows<T>& rows)
      : NumberRows(rows.data, DTypeOf<std::remove_const_t<T>>::value,
                   rows.count, rows.row_stride, rows.stride) {}

  // Calls body(rows) with the Rows of their type.
  template <class Body>
  decltype(auto) visit(const Body& body) const {
    return for_number_type(dtype, [&](auto number) -> decltype(auto) {
      using T = Element<decltype(number)>;
      return body(Rows<T>{static_cast<T*>(data), count, row_stride, stride});
    });
  }

  // The rows [first, first + n).
  NumberRows part(std::size_t first, std::size_t n) const {
    return visit([&](const auto& rows) {
      return NumberRows(rows.row(first), dtype, n, row_stride, stride);
    });
  }

  Void* data = nullptr;
  DType dtype = DType::float32;
  std::size_t count = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t stride = 0;  // within a row
};

}  // namespace headwise::inline HEADWISE_ABI::kernels
