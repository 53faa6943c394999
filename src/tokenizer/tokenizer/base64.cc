#include "tokenizer/base64.h"

#include <nettle/base64.h>

#include <cstddef>
#include <cstdint>

namespace headwise::inline HEADWISE_ABI::tokenizer {

std::optional<std::string> decode_base64(std::string_view text) {
  // std::uint8_t is nettle's word for a byte; any object may be read as that.
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  std::size_t size = bytes.size();
  base64_decode_ctx state;
  base64_decode_init(&state);
  if (base64_decode_update(&state, &size,
                           reinterpret_cast<std::uint8_t*>(bytes.data()),
                           text.size(), text.data()) == 0 ||
      base64_decode_final(&state) == 0) {
    return {};
  }
  bytes.resize(size);
  // nettle passes over white space.
  return BASE64_ENCODE_RAW_LENGTH(size) == text.size() ? std::optional(bytes)
                                                       : std::nullopt;
}

std::string encode_base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(),
                    reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
