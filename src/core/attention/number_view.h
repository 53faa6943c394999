// A query, key, value or output, or the gradient of one, in any of the types
// that they may have. Inner code takes these, so that only what reads and
// writes single elements is compiled for each type.
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/for_number_type.h"
#include "base/untyped_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/tensor_view.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI {

// (B, L, H, D) of float, BFloat16 or Float16. Void is void, or const void of a
// tensor that is only read.
template <class Void>
class NumberView {
 public:
  NumberView() = default;  // no tensor
  template <class T>
  NumberView(  // NOLINT(google-explicit-constructor): a view of such a type is
               // one
      const TensorView<T, 4>& view)
      : data_(view.data()),
        dtype_(DTypeOf<std::remove_const_t<T>>::value),
        extents_(view.extents()),
        strides_(view.strides()) {}

  bool given() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Extents<4>& extents() const { return extents_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }
  UntypedView untyped() const {
    return visit([](const auto& view) { return UntypedView(view); });
  }

  // Calls body(view) with the TensorView of its type.
  template <class Body>
  decltype(auto) visit(const Body& body) const {
    return for_number_type(dtype_, [&](auto number) -> decltype(auto) {
      using T = typename kernels::NumberRows<Void>::template Element<
          decltype(number)>;
      return body(TensorView<T, 4>(static_cast<T*>(data_), extents_, strides_));
    });
  }

  // The rows [first, first + count) of head h of sequence b.
  kernels::NumberRows<Void> rows(std::size_t b, std::size_t first,
                                 std::size_t h, std::size_t count) const {
    return rows_from(b, first, h, count, strides_[1]);
  }
  // Row `row` of each of the heads [first, first + count) of sequence b.
  kernels::NumberRows<Void> rows_of_heads(std::size_t b, std::size_t row,
                                          std::size_t first,
                                          std::size_t count) const {
    return rows_from(b, row, first, count, strides_[2]);
  }

 private:
  kernels::NumberRows<Void> rows_from(std::size_t b, std::size_t row,
                                      std::size_t h, std::size_t count,
                                      std::ptrdiff_t row_stride) const {
    return visit([&](const auto& view) {
      Void* data = &view(b, row, h, 0);
      return kernels::NumberRows<Void>(data, dtype_, count, row_stride,
                                       strides_[3]);
    });
  }

  Void* data_ = nullptr;
  DType dtype_ = DType::float32;
  Extents<4> extents_{};
  Strides<4> strides_{};
};

}  // namespace headwise::inline HEADWISE_ABI
