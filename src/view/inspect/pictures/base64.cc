#include "inspect/pictures/base64.h"

#include <nettle/base64.h>

#include <cstdint>

namespace headwise::inline HEADWISE_ABI {

std::string base64(std::span<const std::byte> bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  // std::uint8_t is nettle's word for a byte; any object may be read as that.
  base64_encode_raw(text.data(), bytes.size(),
                    reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI
