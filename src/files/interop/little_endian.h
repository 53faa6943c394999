// Numbers in files, the lowest byte first.
#pragma once

#include <cstdint>
#include <string_view>

#include "headwise/version.h"

namespace headwise::internal::inline HEADWISE_ABI {

// All of `bytes`, at most 8.
inline std::uint64_t little_endian_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t n = bytes.size(); n-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[n]);
  }
  return number;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
