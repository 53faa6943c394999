// Text of a file as errors show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The most axes of a tensor.
inline constexpr std::size_t kMostOnnxAxes = 8;

// At most 200 characters, control characters as \x1b.
std::string shown(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI
