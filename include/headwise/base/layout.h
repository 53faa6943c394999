// Plain data seen as a query, key or value with four axes. headwise orders them
// (B, L, H, D): batch, sequence length, heads, head size. PyTorch and others
// put the heads before the sequence, (B, H, L, D). Both layouts have the same
// number of elements, so the caller must say which one it is:
//
//   view_blhd(data, B, L, H, D)   data in the order of (B, L, H, D)
//   view_bhld(data, B, H, L, D)   data in the order of (B, H, L, D)
//
// Both return the (B, L, H, D) view that attention() and the steps take;
// nothing is copied. For a tensor that already has four axes, see as_blhd().
//
// `data` is a std::vector, std::array, std::span or C array that outlives the
// view. Errors: shape_mismatch unless it has B * L * H * D elements.
//
// Example:
//   // std::vector<float> q; torch: q.shape == (2, 8, 10, 64)
//   auto query = view_bhld(q, 2, 8, 10, 64).value();  // (2, 10, 8, 64)
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {
namespace detail {

// `axes`: "B * L * H * D". Errors: shape_mismatch unless `count` is the product
// of `extents`.
Status check_element_count(std::string_view operation, std::size_t count,
                           std::string_view axes, const Extents<4>& extents);

}  // namespace detail

template <Viewable Data>
requires(ViewOf<Data>::rank() == 1) Result < TensorView < ElementOf<Data>,
4 >> view_blhd(Data&& data, std::size_t B, std::size_t L, std::size_t H,
               std::size_t D) {
  const ViewOf<Data> elements(data);
  const Extents<4> extents{B, L, H, D};
  HEADWISE_TRY(detail::check_element_count("view_blhd", elements.size(),
                                           "B * L * H * D", extents));
  return TensorView(elements.data(), extents);
}

template <Viewable Data>
requires(ViewOf<Data>::rank() == 1) Result < TensorView < ElementOf<Data>,
4 >> view_bhld(Data&& data, std::size_t B, std::size_t H, std::size_t L,
               std::size_t D) {
  const ViewOf<Data> elements(data);
  const Extents<4> extents{B, H, L, D};
  HEADWISE_TRY(detail::check_element_count("view_bhld", elements.size(),
                                           "B * H * L * D", extents));
  return as_blhd(TensorView(elements.data(), extents));
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
