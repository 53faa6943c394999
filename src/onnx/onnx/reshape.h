// The shapes that Reshape and Flatten make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// `wanted`: as Reshape takes it. Nothing if it has not as many elements.
std::optional<std::vector<std::size_t>> reshaped(
    std::span<const std::size_t> from, std::span<const std::int64_t> wanted,
    bool keep_zero);

// Two axes: those before `axis`, and the others. Nothing for no such axis.
std::optional<std::vector<std::size_t>> flattened(
    std::span<const std::size_t> from, std::int64_t axis);

}  // namespace headwise::inline HEADWISE_ABI
