// Rows of tensors as bytes that travel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// With axes of 1 in front.
template <class T, std::size_t Rank>
TensorView<T, 4> as_rank_4(const TensorView<T, Rank>& view) {
  Extents<4> extents = {1, 1, 1, 1};
  Strides<4> strides{};
  std::ranges::copy(view.extents(), extents.end() - Rank);
  std::ranges::copy(view.strides(), strides.end() - Rank);
  return {view.data(), extents, strides};
}

// Both have the same extents.
template <class T>
void copy_rows(TensorView<const T, 4> from, TensorView<T, 4> to) {
  const auto [B, L, H, D] = from.extents();
  const bool whole = from.stride(3) == 1 && to.stride(3) == 1;
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t h = 0; h < H; ++h) {
        if (whole && D != 0) {
          std::copy_n(&from(b, l, h, 0), D, &to(b, l, h, 0));
          continue;
        }
        for (std::size_t d = 0; d < D; ++d) {
          to(b, l, h, d) = from(b, l, h, d);
        }
      }
    }
  }
}

template <class T>
std::span<const std::byte> bytes_of(const T* elements, std::size_t count) {
  return std::as_bytes(std::span(elements, count));
}
template <class T>
std::span<std::byte> writable_bytes_of(T* elements, std::size_t count) {
  return std::as_writable_bytes(std::span(elements, count));
}

template <class T, std::size_t Rank>
std::vector<std::span<std::byte>> writable_bytes_of(
    std::vector<Tensor<T, Rank>>& tensors) {
  std::vector<std::span<std::byte>> bytes;
  for (Tensor<T, Rank>& tensor : tensors) {
    bytes.push_back(writable_bytes_of(tensor.data(), tensor.size()));
  }
  return bytes;
}

// The memory of rows that travel: of `heads_` heads, with features of D_ and
// Dv_ elements.
class RankRows {
 public:
  std::span<std::byte> bytes(std::size_t rows) {
    return std::span(memory_.data(), rows * memory_.extent(1));
  }
  Tensor<std::byte, 2> release() { return std::move(memory_); }

 protected:
  // In the memory of `old` if that is large enough.
  Status make(const AttentionShape& shape, std::size_t heads,
              const Extents<2>& bytes, Tensor<std::byte, 2> old) {
    heads_ = heads;
    D_ = shape.D;
    Dv_ = shape.Dv;
    HEADWISE_ASSIGN(
        memory_, Tensor<std::byte, 2>::create_unset_in(std::move(old), bytes));
    return ok();
  }

  std::size_t heads_ = 0;
  std::size_t D_ = 0;
  std::size_t Dv_ = 0;
  Tensor<std::byte, 2> memory_;
};

}  // namespace headwise::inline HEADWISE_ABI
