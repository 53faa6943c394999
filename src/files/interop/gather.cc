#include "interop/gather.h"

#include <cstring>
#include <vector>

namespace headwise::inline HEADWISE_ABI {
namespace {

template <std::size_t ItemBytes>
std::byte* copy_row(const std::byte* from, std::size_t count,
                    std::ptrdiff_t stride, std::byte* out) {
  const std::ptrdiff_t step = stride * static_cast<std::ptrdiff_t>(ItemBytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(out, from + static_cast<std::ptrdiff_t>(i) * step, ItemBytes);
    out += ItemBytes;
  }
  return out;
}

template <std::size_t ItemBytes>
void gather_items(const std::byte* data, std::span<const std::size_t> extents,
                  std::span<const std::ptrdiff_t> strides, std::byte* out) {
  if (extents.empty()) {
    copy_row<ItemBytes>(data, 1, 0, out);
    return;
  }
  const std::size_t last = extents.size() - 1;
  std::vector<std::size_t> index(last, 0);  // of the row that is copied
  while (true) {
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < last; ++axis) {
      offset += static_cast<std::ptrdiff_t>(index[axis]) * strides[axis];
    }
    out = copy_row<ItemBytes>(
        data + offset * static_cast<std::ptrdiff_t>(ItemBytes), extents[last],
        strides[last], out);
    std::size_t axis = last;
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) {
      index[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

}  // namespace

void gather(const std::byte* data, std::size_t item_bytes,
            std::span<const std::size_t> extents,
            std::span<const std::ptrdiff_t> strides, std::byte* out) {
  for (const std::size_t extent : extents) {
    if (extent == 0) {
      return;
    }
  }
  switch (item_bytes) {
    case 1:
      return gather_items<1>(data, extents, strides, out);
    case 2:
      return gather_items<2>(data, extents, strides, out);
    case 4:
      return gather_items<4>(data, extents, strides, out);
    default:
      return gather_items<8>(data, extents, strides, out);
  }
}

bool lies_in_c_order(std::span<const std::size_t> extents,
                     std::span<const std::ptrdiff_t> strides) {
  std::ptrdiff_t step = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] != 1 && strides[axis] != step) {
      return false;
    }
    step *= static_cast<std::ptrdiff_t>(extents[axis]);
  }
  return true;
}

}  // namespace headwise::inline HEADWISE_ABI
