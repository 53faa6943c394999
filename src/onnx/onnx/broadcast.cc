#include "onnx/broadcast.h"

#include <algorithm>

#include "base/check.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {

std::optional<std::vector<std::size_t>> broadcast_shapes(
    std::span<const std::size_t> a, std::span<const std::size_t> b) {
  const auto longer = a.size() >= b.size() ? a : b;
  const auto shorter = a.size() >= b.size() ? b : a;
  std::vector<std::size_t> shape(longer.begin(), longer.end());
  for (std::size_t i = 1; i <= shorter.size(); ++i) {
    std::size_t& extent = shape[shape.size() - i];
    const std::size_t other = shorter[shorter.size() - i];
    if (extent != other && extent != 1 && other != 1) {
      return std::nullopt;
    }
    extent = extent == 1 ? other : extent;
  }
  return shape;
}

Result<std::vector<std::size_t>> broadcast_shape(
    const NodeCall& node, std::span<const std::size_t> inputs) {
  std::vector<std::size_t> shape;
  for (const std::size_t input : inputs) {
    auto wider = broadcast_shapes(shape, node.in(input).shape);
    if (!wider) {
      return node.wrong_shape(
          input, message("axes that are broadcast to {}", shape_text(shape)));
    }
    shape = *std::move(wider);
  }
  return shape;
}

bool broadcasts_to(std::span<const std::size_t> from,
                   std::span<const std::size_t> to) {
  const auto both = broadcast_shapes(from, to);
  return both && std::ranges::equal(*both, to);
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
