// Bytes as text, for files that hold others: the alphabet of RFC 4648, chapter
// 4, with its padding and without line ends.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headwise {

std::string base64(std::span<const std::byte> bytes);

}  // namespace headwise
