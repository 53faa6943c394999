// Bytes as text, for embedding files in others: the alphabet of RFC 4648,
// section 4, with padding and without line breaks.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

std::string base64(std::span<const std::byte> bytes);

}  // namespace headwise::inline HEADWISE_ABI
