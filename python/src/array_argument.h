// One way in for every array: NumPy arrays, PyTorch tensors on the CPU, and
// anything else with __dlpack__ or a buffer. Nothing is copied: strides may be
// 0 or negative, and the memory read-only.
//
// Errors: TypeError for an object that is not an array, for another device or
// element type, for an array that carries a mask of its elements, and for a
// tensor whose gradient would be lost; ValueError for a
// wrong rank, for data that is not aligned to its elements, and for more than
// kMostAxes axes.
//
// Example:
//   const ArrayArgument query(object, {"attention", "query"});
//   TensorView<const float, 4> view =
//       query.view<float, 4>("(B, Lq, Hq, D)");
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "error.h"
#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/tensor_view.h"
#include "library.h"

namespace headwise::python {

// Whether a tensor may require a gradient: only where the caller records the
// graph itself, as headwise.torch does. There a tensor may also be on a GPU,
// and the call has to compare places (expect_on).
enum class Graph { refused, kept_by_caller };

// The axes of heads: (B, L, H, D) everywhere in headwise, (B, H, L, D) in
// torch.
enum class AxisOrder { rows_first, heads_first };

// Stands for the memory of an empty array, which may be null: to headwise a
// null pointer means that no tensor was given.
void* no_elements();

// Whether no extent is 0.
bool has_elements(std::span<const std::size_t> extents);

// "(2, 10)"
std::string shape_text(std::span<const std::size_t> extents);

class ArrayArgument {
 public:
  static constexpr std::size_t kMostAxes = 8;
  static constexpr int kCpu = -1;

  ArrayArgument(nb::handle array, ArgumentName name,
                Graph graph = Graph::refused);

  DType dtype() const { return dtype_; }
  std::size_t rank() const { return rank_; }
  std::span<const std::size_t> extents() const {
    return std::span(extents_).first(rank_);
  }
  // In elements.
  std::span<const std::ptrdiff_t> strides() const {
    return std::span(strides_).first(rank_);
  }
  // Never null.
  void* data() const { return data_; }
  LibraryKind library() const { return library_; }
  // The number of the GPU that has the data; kCpu for none.
  int gpu() const { return gpu_; }
  nb::handle object() const { return object_; }
  ArgumentName name() const { return name_; }

  // TypeError unless it is T; ValueError unless it has this rank. `axes`
  // describes the axes in the message.
  template <class T, std::size_t Rank>
  TensorView<const T, Rank> view(std::string_view axes) const {
    expect(DTypeOf<T>::value);
    expect(Rank, axes);
    return unchecked_view<const T, Rank>();
  }
  // To write to. ValueError for memory that is read-only.
  template <class T, std::size_t Rank>
  TensorView<T, Rank> writable_view(std::string_view axes) const {
    expect(DTypeOf<T>::value);
    expect(Rank, axes);
    expect_writable();
    return unchecked_view<T, Rank>();
  }

  // Sees an argument (B, H, L, D) as (B, L, H, D). ValueError for another rank;
  // `axes` describes the axes in the message.
  void put_rows_first(std::string_view axes);
  // That of the argument as it was given.
  AxisOrder order() const { return order_; }

  // TypeError unless the data is there.
  void expect_on(int gpu) const;
  // ValueError for a torch tensor that was resized since: its memory is gone.
  // Arrays of other libraries can't be, as long as they lend their memory.
  void expect_in_place() const;

  [[noreturn]] void raise_dtype(std::string_view expected) const;
  [[noreturn]] void raise_shape(std::string_view expected) const;

 private:
  void read_torch(const TorchNames& torch, Graph graph);
  void read_torch_attributes(const TorchNames& torch, Graph graph);
  bool set_plain(const nb::dlpack::dltensor& plain);
  void read_dlpack();
  [[noreturn]] void raise_device(int expected) const;
  [[noreturn]] void raise_no_plain_memory() const;
  void expect(DType dtype) const;
  void expect(std::size_t rank, std::string_view axes) const;
  void expect_writable() const;
  void set_rank(std::size_t rank);
  void set_data(void* data);
  template <class T, std::size_t Rank>
  TensorView<T, Rank> unchecked_view() const {
    Extents<Rank> extents;
    Strides<Rank> strides;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      extents[axis] = extents_[axis];
      strides[axis] = strides_[axis];
    }
    return {static_cast<T*>(data_), extents, strides};
  }

  nb::object object_;
  nb::ndarray<nb::ro> memory_;  // keeps what __dlpack__ lent; torch: nothing
  ArgumentName name_;
  LibraryKind library_;
  DType dtype_ = DType::float32;
  std::size_t rank_ = 0;
  std::array<std::size_t, kMostAxes> extents_{};
  std::array<std::ptrdiff_t, kMostAxes> strides_{};
  void* data_ = nullptr;
  AxisOrder order_ = AxisOrder::rows_first;
  int gpu_ = kCpu;
};

// Calls `call` with a value of type float, BFloat16 or Float16, as the array's
// elements are; TypeError for any other.
template <class Call>
auto with_element_type(const ArrayArgument& array, Call&& call) {
  switch (array.dtype()) {
    case DType::float32:
      return call(float{});
    case DType::bfloat16:
      return call(BFloat16{});
    case DType::float16:
      return call(Float16{});
    default:
      array.raise_dtype("float32, bfloat16 or float16");
  }
}

}  // namespace headwise::python
