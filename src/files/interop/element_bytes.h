// Elements as files hold them: in C order, little endian, a bool as 0 or 1.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"

namespace headwise::inline HEADWISE_ABI {

// The bytes of an array. Nothing when they overflow, also where an axis of
// extent 0 would hide it.
std::optional<std::size_t> array_bytes(std::span<const std::size_t> shape,
                                       DType dtype);

// Reverses the bytes of each element, for the other byte order.
void reverse_elements(std::span<std::byte> data, std::size_t item_bytes);

// Any byte but 0 becomes 1.
void normalize_booleans(std::span<std::byte> data);

// Gathered, whatever the strides of `view` are; `bytes` is its array_bytes().
std::vector<std::byte> little_endian_data(const AnyView& view,
                                          std::size_t bytes);

// The same; where the view already lies so it is returned in place, otherwise
// in `copy`.
std::span<const std::byte> little_endian_bytes(const AnyView& view,
                                               std::size_t bytes,
                                               std::vector<std::byte>& copy);

}  // namespace headwise::inline HEADWISE_ABI
