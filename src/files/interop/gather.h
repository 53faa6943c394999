// Copies elements that lie anywhere in memory into C order.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Element (i, j, ..) is at data + item_bytes * (i * strides[0] + j * strides[1]
// + ..); `out` receives them without gaps, the last index fastest. The item has
// 1, 2, 4 or 8 bytes.
void gather(const std::byte* data, std::size_t item_bytes,
            std::span<const std::size_t> extents,
            std::span<const std::ptrdiff_t> strides, std::byte* out);

// Whether gather() would copy one block as it is.
bool lies_in_c_order(std::span<const std::size_t> extents,
                     std::span<const std::ptrdiff_t> strides);

}  // namespace headwise::inline HEADWISE_ABI
