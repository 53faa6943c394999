// A read-only view whose element type and rank are known only at run time. The
// trace and the file writers take it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// row_major() for extents whose number is known only at run time.
inline std::vector<std::ptrdiff_t> row_major(
    std::span<const std::size_t> extents) {
  std::vector<std::ptrdiff_t> strides(extents.size(), 1);
  for (std::size_t axis = strides.size(); axis-- > 1;) {
    strides[axis - 1] =
        strides[axis] * static_cast<std::ptrdiff_t>(extents[axis]);
  }
  return strides;
}

class AnyView {
 public:
  AnyView() = default;
  // Of data in C order without gaps.
  AnyView(const void* data, DType dtype, std::span<const std::size_t> extents)
      : AnyView(data, dtype, extents, row_major(extents)) {}
  AnyView(const void* data, DType dtype, std::span<const std::size_t> extents,
          std::span<const std::ptrdiff_t> strides)
      : data_(data),
        dtype_(dtype),
        extents_(extents.begin(), extents.end()),
        strides_(strides.begin(), strides.end()) {}
  // A view of any type and rank, or a value that converts to one.
  template <Viewable X>
  // NOLINTNEXTLINE(google-explicit-constructor): callers pass views and tensors
  AnyView(X&& x) : AnyView(of(ViewOf<X>(x))) {}

  const void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  std::size_t rank() const { return extents_.size(); }
  std::size_t size() const { return element_count(extents_); }
  std::span<const std::size_t> extents() const { return extents_; }
  std::span<const std::ptrdiff_t> strides() const { return strides_; }

 private:
  template <class T, std::size_t Rank>
  static AnyView of(const TensorView<T, Rank>& view) {
    return {view.data(), DTypeOf<std::remove_const_t<T>>::value, view.extents(),
            view.strides()};
  }

  const void* data_ = nullptr;
  DType dtype_ = DType::float32;
  std::vector<std::size_t> extents_;
  std::vector<std::ptrdiff_t> strides_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
