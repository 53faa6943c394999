// A strided, non-owning view of elements of type T, with the names of
// std::mdspan (extent, stride, operator()). It is passed by value, with
// `const T` for inputs. Strides count elements; a stride of 0 repeats an
// element along an axis and a negative one goes backwards.
//
// A function that takes a view also takes anything that converts to one:
//
//   from                                  to
//   Tensor<T, Rank>                       TensorView<T, Rank>
//   std::vector<T>, std::array, std::span TensorView<T, 1>
//   any of these                          the same view of const T
//
// A temporary Tensor or std::vector does not convert, because the view would
// outlive it.
//
// Example:
//   TensorView x(data, {rows, columns});  // TensorView<float, 2>
//   float corner = x(0, 0);
//   attention(query, key, value, output);  // four Tensor<float, 4>
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {
namespace detail {

// An array that is built from exactly one number per axis.
template <class Number, class Axes>
class AxisNumbers;
template <class Number, std::size_t... Axis>
class AxisNumbers<Number, std::index_sequence<Axis...>>
    : public std::array<Number, sizeof...(Axis)> {
 public:
  constexpr AxisNumbers() : std::array<Number, sizeof...(Axis)>{} {}
  // NOLINTNEXTLINE(google-explicit-constructor): `{B, L, H, D}`
  constexpr AxisNumbers(decltype(Axis, Number())... numbers) requires(
      sizeof...(Axis) != 0)
      : std::array<Number, sizeof...(Axis)>{numbers...} {}
};

}  // namespace detail

// One number per axis; all 0 by default. Fewer or more numbers do not compile:
// std::array would take {2, 3} for {2, 3, 0, 0}.
template <class Number, std::size_t Rank>
class PerAxis
    : public detail::AxisNumbers<Number, std::make_index_sequence<Rank>> {
 public:
  using detail::AxisNumbers<Number,
                            std::make_index_sequence<Rank>>::AxisNumbers;
  // An array has the right length. A template, so that it takes no list.
  template <class Array>
  requires std::same_as<Array, std::array<Number, Rank>>
  // NOLINTNEXTLINE(google-explicit-constructor): extents are such an array
  constexpr PerAxis(const Array& numbers) {
    std::array<Number, Rank>::operator=(numbers);
  }
};

template <std::size_t Rank>
using Extents = PerAxis<std::size_t, Rank>;
template <std::size_t Rank>
using Strides = PerAxis<std::ptrdiff_t, Rank>;

}  // namespace headwise::inline HEADWISE_ABI

// For `const auto [B, L, H, D] = view.extents();`
template <class Number, std::size_t Rank>
struct std::tuple_size<headwise::PerAxis<Number, Rank>>
    : std::integral_constant<std::size_t, Rank> {};
template <std::size_t Axis, class Number, std::size_t Rank>
struct std::tuple_element<Axis, headwise::PerAxis<Number, Rank>> {
  using type = Number;
};

namespace headwise::inline HEADWISE_ABI {

// How many elements a tensor with these extents has.
constexpr std::size_t element_count(std::span<const std::size_t> extents) {
  std::size_t count = 1;
  for (const std::size_t extent : extents) {
    count *= extent;
  }
  return count;
}

// Strides of data in C order without gaps.
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
class Tensor;

namespace detail {

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t Extent>
inline constexpr bool kIsSpan<std::span<T, Extent>> = true;

// Whether the elements outlive `Range`, a forwarding reference.
template <class Range>
inline constexpr bool kKeepsElements =
    std::is_lvalue_reference_v<Range> || kIsSpan<std::remove_cv_t<Range>>;

}  // namespace detail

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
  // A view of T converts to a view of const T.
  template <class U>
  requires(std::is_same_v<const U, T>)
      TensorView(  // NOLINT(google-explicit-constructor): as span<T>
          const TensorView<U, Rank>& other)
      : TensorView(other.data(), other.extents(), other.strides()) {}
  // The elements of a std::vector, std::array, std::span or C array.
  template <class Range>
  requires(Rank == 1 && detail::kKeepsElements<Range> &&
           std::is_constructible_v<std::span<T>, Range>)
      TensorView(  // NOLINT(google-explicit-constructor): as span<T>
          Range&& range)
      : TensorView(std::span<T>(range).data(), {std::size(range)}) {}
  // A view of a temporary does not compile.
  template <class Range>
  requires(Rank == 1 && !detail::kKeepsElements<Range> &&
           std::is_constructible_v<std::span<const T>, Range>)
      TensorView(Range&& range)
  = delete;

  T* data() const { return data_; }
  const Extents<Rank>& extents() const { return extents_; }
  const Strides<Rank>& strides() const { return strides_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }
  static constexpr std::size_t rank() { return Rank; }

  std::size_t size() const { return element_count(extents_); }

  template <class... Index>
  requires(sizeof...(Index) == Rank) T& operator()(Index... index) const {
    return *(data_ + offset({static_cast<std::size_t>(index)...}));
  }

  // The view with its axes in another order: axis a of the result is axis
  // order[a] of this one. Nothing is copied.
  TensorView permuted(const PerAxis<std::size_t, Rank>& order) const {
    TensorView view = *this;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      view.extents_[axis] = extents_[order[axis]];
      view.strides_[axis] = strides_[order[axis]];
    }
    return view;
  }

 private:
  std::ptrdiff_t offset(const std::array<std::size_t, Rank>& index) const {
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

template <class T, std::size_t Rank>
TensorView(Tensor<T, Rank>&) -> TensorView<T, Rank>;
template <class T, std::size_t Rank>
TensorView(const Tensor<T, Rank>&) -> TensorView<const T, Rank>;
template <class T, std::size_t Rank>
TensorView(T* data, const std::size_t (&extents)[Rank]) -> TensorView<T, Rank>;
template <class Range>
TensorView(Range&& range)
    -> TensorView<typename decltype(std::span(range))::element_type, 1>;

// What `TensorView(x)` accepts, and the view that it gives.
template <class X>
concept Viewable = requires(X&& x) {
  TensorView(std::forward<X>(x));
};
template <Viewable X>
using ViewOf = decltype(TensorView(std::declval<X>()));
// float or const float, ...
template <Viewable X>
using ElementOf =
    std::remove_pointer_t<decltype(std::declval<ViewOf<X>>().data())>;

// The same elements with an axis of extent 1 in front: a batch of one.
template <Viewable X>
auto as_batch_of_one(X&& tensor) {
  const ViewOf<X> view(tensor);
  constexpr std::size_t kRank = ViewOf<X>::rank();
  Extents<kRank + 1> extents;
  Strides<kRank + 1> strides;
  extents[0] = 1;
  for (std::size_t axis = 0; axis < kRank; ++axis) {
    extents[axis + 1] = view.extent(axis);
    strides[axis + 1] = view.stride(axis);
  }
  return TensorView(view.data(), extents, strides);
}

// (B, H, L, D) data, the layout of PyTorch, seen as (B, L, H, D), the layout of
// headwise, and the other way round; also without a batch. Nothing is copied.
// base/layout.h has the same for data without extents.
template <Viewable X>
requires(ViewOf<X>::rank() == 4) ViewOf<X> as_blhd(X&& bhld) {
  return ViewOf<X>(bhld).permuted({0, 2, 1, 3});
}
template <Viewable X>
requires(ViewOf<X>::rank() == 3) ViewOf<X> as_blhd(X&& hld) {
  return ViewOf<X>(hld).permuted({1, 0, 2});
}
template <Viewable X>
requires(ViewOf<X>::rank() == 4) ViewOf<X> as_bhld(X&& blhd) {
  return ViewOf<X>(blhd).permuted({0, 2, 1, 3});
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
