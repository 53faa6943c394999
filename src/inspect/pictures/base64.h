// Bytes as text, for files that hold others: the alphabet of RFC 4648, chapter
// 4, with its padding and without line ends.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

std::string base64(std::span<const std::byte> bytes);

}  // namespace headwise::inline HEADWISE_ABI
