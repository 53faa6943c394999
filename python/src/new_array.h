// Arrays for results, of the library that an argument came from: NumPy, torch,
// or what the array's __array_namespace__ (or its module's from_dlpack) makes.
// A library that has neither gets NumPy arrays.
//
// Example:
//   NewArray output(query, DType::float32, extents);
//   write(output.view<float, 4>());
//   return std::move(output).object();
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "array_argument.h"
#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::python {

class NewArray {
 public:
  NewArray() = default;  // none
  // Uninitialised, in C order. heads_first: memory and extents are those of (B,
  // L, H, D), and Python sees a torch tensor (B, H, L, D), as torch's own
  // kernels return it. Errors: MemoryError, and those of the library.
  NewArray(const ArrayArgument& like, DType dtype,
           std::span<const std::size_t> extents,
           AxisOrder order = AxisOrder::rows_first);
  // With the memory of a tensor.
  template <class T, std::size_t Rank>
  NewArray(const ArrayArgument& like, Tensor<T, Rank> tensor)
      : NewArray(like.object(), new Tensor<T, Rank>(std::move(tensor))) {}

  // The same, of NumPy.
  template <class T, std::size_t Rank>
  explicit NewArray(Tensor<T, Rank> tensor)
      : NewArray(nb::handle(), new Tensor<T, Rank>(std::move(tensor))) {}
  // Of the library of `like`, or of NumPy; with memory that `owner` keeps.
  NewArray(nb::handle like, DType dtype, std::span<const std::size_t> extents,
           void* data, nb::object owner);

  explicit operator bool() const { return data_ != nullptr; }
  // Extents of 1 in front make up for axes that were left away. An array that
  // there is not gives no view.
  template <class T, std::size_t Rank>
  TensorView<T, Rank> view() const {
    if (data_ == nullptr) {
      return {};
    }
    Extents<Rank> extents;
    extents.fill(1);
    std::copy_n(extents_.begin(), rank_, extents.end() - rank_);
    return {static_cast<T*>(data_), extents};
  }
  // Null if there is none.
  void* data() const { return data_; }
  // For Python; None if there is none. Only once, after it was written.
  nb::object object() &&;

 private:
  // Of the library of `like`, or of NumPy.
  template <class T, std::size_t Rank>
  NewArray(nb::handle like, Tensor<T, Rank>* owned)
      : NewArray(like, DTypeOf<T>::value, owned->extents(), owned->data(),
                 nb::capsule(owned, [](void* memory) noexcept {
                   delete static_cast<Tensor<T, Rank>*>(memory);
                 })) {}

  void set_extents(std::span<const std::size_t> extents);

  nb::object object_;  // numpy, torch: the array; others: who owns the memory
  nb::object like_;    // others: an array of the library; nothing: NumPy
  LibraryKind library_ = LibraryKind::numpy;
  DType dtype_ = DType::float32;
  std::array<std::size_t, ArrayArgument::kMostAxes> extents_{};
  std::size_t rank_ = 0;
  void* data_ = nullptr;
};

// A read-only NumPy array of memory that `owner` keeps, of any rank. Errors:
// ImportError for bfloat16 without ml_dtypes.
nb::object read_only_array(const AnyView& view,
                           std::shared_ptr<const void> owner);

}  // namespace headwise::python
