// Shapes of several inputs that are broadcast against each other, as NumPy
// does: aligned at their last axes, an axis of extent 1 repeats.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

// Of the inputs with these numbers. Errors: shape_mismatch about the first that
// does not fit those before it.
Result<std::vector<std::size_t>> broadcast_shape(
    const NodeCall& node, std::span<const std::size_t> inputs);

// Of two shapes; nothing if they do not fit.
std::optional<std::vector<std::size_t>> broadcast_shapes(
    std::span<const std::size_t> a, std::span<const std::size_t> b);

// Whether an array of one shape is broadcast to another one.
bool broadcasts_to(std::span<const std::size_t> from,
                   std::span<const std::size_t> to);

// The strides of an array of shape `from` along the axes of `to`.
std::vector<std::size_t> broadcast_strides(std::span<const std::size_t> from,
                                           std::span<const std::size_t> to);

}  // namespace headwise::inline HEADWISE_ABI
