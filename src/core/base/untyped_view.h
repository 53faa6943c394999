// A view whose element type and rank are known only at run time, of at most
// four axes: unlike AnyView it allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "headwise/base/dtype.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

class UntypedView {
 public:
  static constexpr std::size_t kMostAxes = 4;

  // A view of any type is one; axes that it lacks are not set.
  template <class T, std::size_t Rank>
  // NOLINTNEXTLINE(google-explicit-constructor,*-member-init)
  UntypedView(const TensorView<T, Rank>& view)
      : data_(view.data()),
        dtype_(DTypeOf<std::remove_const_t<T>>::value),
        rank_(Rank) {
    static_assert(Rank <= kMostAxes);
    std::ranges::copy(view.extents(), extents_.begin());
    std::ranges::copy(view.strides(), strides_.begin());
  }

  const void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  std::span<const std::size_t> extents() const {
    return {extents_.data(), rank_};
  }
  std::span<const std::ptrdiff_t> strides() const {
    return {strides_.data(), rank_};
  }

 private:
  const void* data_;
  DType dtype_;
  std::size_t rank_;
  std::array<std::size_t, kMostAxes> extents_;
  std::array<std::ptrdiff_t, kMostAxes> strides_;
};

}  // namespace headwise::inline HEADWISE_ABI
