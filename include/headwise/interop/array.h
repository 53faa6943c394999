// The contents of a file: elements whose type and rank are known only once it
// is read, in C order and native byte order, and their conversion to the
// tensors that the steps take.
//
//   to_float   float16, bfloat16 (exactly), float32, float64 and integers
//              (rounded to nearest even; beyond float32's range: infinity)
//   to_bool    bool, and integers that are all 0 or 1
//   to_int64   integers
//
// Errors: shape_mismatch for another rank, invalid_argument for another type,
// out_of_range for a uint64 beyond int64 and for a mask's integer other than 0
// and 1 (an additive mask, say), out_of_memory. The message names the
// operation and the argument:
//   attention: query has shape (2, 3), expected 4 axes
//   attention: mask holds float32 elements, expected bool or integers
//
// Example:
//   Result<Array> array = read_npy("query.npy");
//   Result<Tensor<float, 4>> query = to_float<4>(*array, "attention", "query");
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

namespace detail {

// Allocates uninitialised memory, aligned like that of a Tensor: whoever
// resizes a vector must write the new elements.
template <class T>
struct AlignedUninitialized {
  using value_type = T;

  T* allocate(std::size_t count) {
    return static_cast<T*>(
        ::operator new (count * sizeof(T), std::align_val_t{kTensorAlignment}));
  }
  void deallocate(T* memory, std::size_t /*count*/) {
    ::operator delete (memory, std::align_val_t{kTensorAlignment});
  }
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
  bool operator==(const AlignedUninitialized&) const { return true; }
};

}  // namespace detail

// 64-byte-aligned bytes; resize() leaves new ones uninitialised.
using AlignedBytes =
    std::vector<std::byte, detail::AlignedUninitialized<std::byte>>;

struct Array {
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  AlignedBytes data;  // C order, native byte order; size = product * item size

  // Valid while this array exists and `data` keeps its size.
  AnyView view() const;
};

namespace detail {
Status check_rank(const Array& array, std::string_view operation,
                  std::string_view name, std::size_t rank);
Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<float> out);
Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<bool> out);
Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<std::int64_t> out);

template <class T, std::size_t Rank>
Result<Tensor<T, Rank>> to_tensor(const Array& array,
                                  std::string_view operation,
                                  std::string_view name) try {
  if (Status s = check_rank(array, operation, name, Rank); !s) {
    return s.error();
  }
  Extents<Rank> extents{};
  std::copy_n(array.shape.begin(), Rank, extents.begin());
  Result<Tensor<T, Rank>> tensor = Tensor<T, Rank>::create(extents);
  if (!tensor) {
    return tensor;
  }
  if (Status s = convert(array, operation, name, tensor->elements()); !s) {
    return s.error();
  }
  return tensor;
} catch (const std::bad_alloc&) {  // while a message is built, too
  return Error{ErrorCode::out_of_memory};
}
}  // namespace detail

template <std::size_t Rank>
Result<Tensor<float, Rank>> to_float(const Array& array,
                                     std::string_view operation,
                                     std::string_view name) {
  return detail::to_tensor<float, Rank>(array, operation, name);
}

template <std::size_t Rank>
Result<Tensor<bool, Rank>> to_bool(const Array& array,
                                   std::string_view operation,
                                   std::string_view name) {
  return detail::to_tensor<bool, Rank>(array, operation, name);
}

template <std::size_t Rank>
Result<Tensor<std::int64_t, Rank>> to_int64(const Array& array,
                                            std::string_view operation,
                                            std::string_view name) {
  return detail::to_tensor<std::int64_t, Rank>(array, operation, name);
}

// An error that names the first element that is NaN or infinite as a float32
// (a float64 beyond float32's range is): `read_params: w_q.weight is nan at
// (3, 4), expected finite numbers`. Integers and bools are finite. Also
// invalid_argument for a view that is not in C order.
Status check_finite(const AnyView& view, std::string_view operation,
                    std::string_view name);
inline Status check_finite(const Array& array, std::string_view operation,
                           std::string_view name) try {
  return check_finite(array.view(), operation, name);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
