// A strided, non-owning window on elements of type T, with std::mdspan's words
// (extent, stride, operator()). Passed by value; `const T` for inputs. Strides
// count elements; 0 repeats an element along an axis and a negative stride
// walks backwards.
//
// Example:
//   TensorView<const float, 2> x(data, {rows, columns});
//   float corner = x(0, 0);
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

template <std::size_t Rank>
using Extents = std::array<std::size_t, Rank>;
template <std::size_t Rank>
using Strides = std::array<std::ptrdiff_t, Rank>;

// Strides of data that lies in C order without gaps.
template <std::size_t Rank>
constexpr Strides<Rank> row_major(const Extents<Rank>& extents) {
  Strides<Rank> strides{};
  std::ptrdiff_t step = 1;
  for (std::size_t axis = Rank; axis-- > 0;) {
    strides[axis] = step;
    step *= static_cast<std::ptrdiff_t>(extents[axis]);
  }
  return strides;
}

template <class T, std::size_t Rank>
class TensorView {
 public:
  using value_type = std::remove_const_t<T>;

  constexpr TensorView() =
      default;  // no tensor: data() is null, every extent 0
  TensorView(T* data, const Extents<Rank>& extents)
      : TensorView(data, extents, row_major<Rank>(extents)) {}
  TensorView(T* data, const Extents<Rank>& extents,
             const Strides<Rank>& strides)
      : data_(data), extents_(extents), strides_(strides) {}
  // A view that may write is also one that may read.
  template <class U>
  requires(std::is_same_v<const U, T>)
      TensorView(  // NOLINT(google-explicit-constructor): as span<T>
          const TensorView<U, Rank>& other)
      : TensorView(other.data(), other.extents(), other.strides()) {}

  T* data() const { return data_; }
  const Extents<Rank>& extents() const { return extents_; }
  const Strides<Rank>& strides() const { return strides_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }
  static constexpr std::size_t rank() { return Rank; }

  std::size_t size() const {
    std::size_t count = 1;
    for (const std::size_t extent : extents_) {
      count *= extent;
    }
    return count;
  }

  template <class... Index>
  requires(sizeof...(Index) == Rank) T& operator()(Index... index) const {
    return *(data_ + offset({static_cast<std::size_t>(index)...}));
  }

  // The view with its axes in another order: axis a of the result is axis
  // order[a] of this one. Nothing moves.
  TensorView permuted(const std::array<std::size_t, Rank>& order) const {
    TensorView view = *this;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      view.extents_[axis] = extents_[order[axis]];
      view.strides_[axis] = strides_[order[axis]];
    }
    return view;
  }

 private:
  std::ptrdiff_t offset(const Extents<Rank>& index) const {
    std::ptrdiff_t sum = 0;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      assert(index[axis] < extents_[axis]);
      sum += static_cast<std::ptrdiff_t>(index[axis]) * strides_[axis];
    }
    return sum;
  }

  T* data_ = nullptr;
  Extents<Rank> extents_{};
  Strides<Rank> strides_{};
};

// The same elements with an axis of extent 1 in front: a batch of one.
template <class T, std::size_t Rank>
TensorView<T, Rank + 1> as_batch_of_one(const TensorView<T, Rank>& view) {
  Extents<Rank + 1> extents{1};
  Strides<Rank + 1> strides{0};
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    extents[axis + 1] = view.extent(axis);
    strides[axis + 1] = view.stride(axis);
  }
  return {view.data(), extents, strides};
}

// (B, H, L, D) data seen as (B, L, H, D), the layout of the C++ extents, and
// the other way round; unbatched forms likewise. Nothing moves.
template <class T>
TensorView<T, 4> as_blhd(const TensorView<T, 4>& bhld) {
  return bhld.permuted({0, 2, 1, 3});
}
template <class T>
TensorView<T, 3> as_blhd(const TensorView<T, 3>& hld) {
  return hld.permuted({1, 0, 2});
}
template <class T>
TensorView<T, 4> as_bhld(const TensorView<T, 4>& blhd) {
  return blhd.permuted({0, 2, 1, 3});
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
