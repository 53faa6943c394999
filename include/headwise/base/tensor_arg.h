// A tensor argument whose element type and rank are known only at run time, of
// at most four axes. A view of any such type and rank converts to one, and
// view() gives it back. It allocates nothing; AnyView, for files and traces,
// has any number of axes.
//
// Example:
//   TensorArg argument = query;  // a Tensor<float, 4>
//   TensorView<const float, 4> numbers = argument.view<const float, 4>();
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "headwise/base/dtype.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class TensorArg {
 public:
  static constexpr std::size_t kMostAxes = 4;

  TensorArg() = default;  // no tensor
  template <Viewable X>
  // NOLINTNEXTLINE(google-explicit-constructor): callers pass views and tensors
  TensorArg(X&& x) : TensorArg(ViewOf<X>(x), nullptr) {}

  // Of at most four axes, in C order without gaps.
  TensorArg(void* data, DType dtype, std::span<const std::size_t> extents)
      : data_(data),
        dtype_(dtype),
        rank_(static_cast<std::uint8_t>(extents.size())),
        writable_(true) {
    assert(extents.size() <= kMostAxes);
    std::ptrdiff_t step = 1;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      extents_[axis] = extents[axis];
      strides_[axis] = step;
      step *= static_cast<std::ptrdiff_t>(extents[axis]);
    }
  }

  bool given() const { return data_ != nullptr; }
  const void* data() const { return data_; }
  // Of a tensor that is written.
  void* writable_data() const {
    assert(writable_ || !given());
    return data_;
  }
  DType dtype() const { return dtype_; }
  std::size_t rank() const { return rank_; }
  std::span<const std::size_t> extents() const {
    return {extents_.data(), rank_};
  }
  // Those of a tensor with four axes.
  const Extents<4>& extents4() const { return extents_; }
  const Strides<4>& strides4() const { return strides_; }
  std::span<const std::ptrdiff_t> strides() const {
    return {strides_.data(), rank_};
  }
  std::size_t size() const { return element_count(extents()); }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }

  // The view that it was made from; of `const T`, also where that was one of T.
  // No tensor: no view.
  template <class T, std::size_t Rank>
  TensorView<T, Rank> view() const {
    assert(!given() ||
           (rank_ == Rank && dtype_ == DTypeOf<std::remove_const_t<T>>::value));
    assert(!given() || writable_ || std::is_const_v<T>);
    Extents<Rank> extents;
    Strides<Rank> strides;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      extents[axis] = extents_[axis];
      strides[axis] = strides_[axis];
    }
    return {static_cast<T*>(data_), extents, strides};
  }

 private:
  template <class T, std::size_t Rank>
  TensorArg(const TensorView<T, Rank>& view, std::nullptr_t)
      : data_(const_cast<std::remove_const_t<T>*>(view.data())),
        dtype_(DTypeOf<std::remove_const_t<T>>::value),
        rank_(Rank),
        writable_(!std::is_const_v<T>) {
    static_assert(Rank <= kMostAxes);
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      extents_[axis] = view.extent(axis);
      strides_[axis] = view.stride(axis);
    }
  }

  void* data_ = nullptr;
  DType dtype_ = DType::float32;
  std::uint8_t rank_ = 0;
  bool writable_ = false;
  Extents<kMostAxes> extents_{};
  Strides<kMostAxes> strides_{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
