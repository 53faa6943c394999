#include "interop/element_bytes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "headwise/base/checked_product.h"
#include "interop/gather.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kLargestSize =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

}  // namespace

std::optional<std::size_t> array_bytes(std::span<const std::size_t> shape,
                                       DType dtype) {
  std::vector<std::size_t> factors(shape.begin(), shape.end());
  std::erase(factors, std::size_t{0});
  const bool empty = factors.size() != shape.size();
  factors.push_back(size_of(dtype));
  const auto bytes = checked_product(factors);
  if (!bytes || *bytes > kLargestSize) {
    return std::nullopt;
  }
  return empty ? 0 : *bytes;
}

void reverse_elements(std::span<std::byte> data, std::size_t item_bytes) {
  for (std::size_t at = 0; at < data.size(); at += item_bytes) {
    std::ranges::reverse(data.subspan(at, item_bytes));
  }
}

void normalize_booleans(std::span<std::byte> data) {
  for (std::byte& value : data) {
    value = value == std::byte{0} ? std::byte{0} : std::byte{1};
  }
}

std::vector<std::byte> little_endian_data(const AnyView& view,
                                          std::size_t bytes) {
  const std::size_t item = size_of(view.dtype());
  std::vector<std::byte> data(bytes);
  gather(static_cast<const std::byte*>(view.data()), item, view.extents(),
         view.strides(), data.data());
  if constexpr (std::endian::native == std::endian::big) {
    reverse_elements(data, item);
  }
  return data;
}

std::span<const std::byte> little_endian_bytes(const AnyView& view,
                                               std::size_t bytes,
                                               std::vector<std::byte>& copy) {
  if (std::endian::native == std::endian::little &&
      lies_in_c_order(view.extents(), view.strides())) {
    return {static_cast<const std::byte*>(view.data()), bytes};
  }
  copy = little_endian_data(view, bytes);
  return copy;
}

}  // namespace headwise::inline HEADWISE_ABI
