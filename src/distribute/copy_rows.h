// Rows of tensors as bytes that travel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

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

}  // namespace headwise::inline HEADWISE_ABI
