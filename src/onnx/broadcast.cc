#include "onnx/broadcast.h"

#include <algorithm>

#include "base/check.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {

Result<std::vector<std::size_t>> broadcast_shape(
    const NodeCall& node, std::span<const std::size_t> inputs) {
  std::vector<std::size_t> shape;
  for (const std::size_t input : inputs) {
    const auto& next = node.in(input).shape;
    std::vector<std::size_t> wider(std::max(shape.size(), next.size()), 1);
    std::ranges::copy(shape,
                      wider.end() - static_cast<std::ptrdiff_t>(shape.size()));
    for (std::size_t i = 1; i <= next.size(); ++i) {
      std::size_t& extent = wider[wider.size() - i];
      const std::size_t other = next[next.size() - i];
      if (extent != other && extent != 1 && other != 1) {
        return node.wrong_shape(
            input, "axes that are broadcast to " + shape_text(shape));
      }
      extent = extent == 1 ? other : extent;
    }
    shape = wider;
  }
  return shape;
}

bool broadcasts_to(std::span<const std::size_t> from,
                   std::span<const std::size_t> to) {
  if (from.size() > to.size()) {
    return false;
  }
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const std::size_t extent = from[from.size() - i];
    if (extent != 1 && extent != to[to.size() - i]) {
      return false;
    }
  }
  return true;
}

std::vector<std::size_t> broadcast_strides(std::span<const std::size_t> from,
                                           std::span<const std::size_t> to) {
  const std::vector<std::size_t> own = strides_of(from);
  std::vector<std::size_t> strides(to.size(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    if (from[from.size() - i] != 1) {
      strides[to.size() - i] = own[own.size() - i];
    }
  }
  return strides;
}

}  // namespace headwise::inline HEADWISE_ABI
