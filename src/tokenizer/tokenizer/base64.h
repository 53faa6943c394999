// Bytes as text, as JSON and tiktoken's files have them.
#pragma once

#include <nettle/base64.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Nothing if `text` is not base64 with its padding.
inline std::optional<std::string> decode_base64(std::string_view text) {
  // std::uint8_t is nettle's word for a byte; any object may be read as that.
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  std::size_t size = bytes.size();
  base64_decode_ctx state;
  base64_decode_init(&state);
  const bool decoded =
      base64_decode_update(&state, &size,
                           reinterpret_cast<std::uint8_t*>(bytes.data()),
                           text.size(), text.data()) != 0 &&
      base64_decode_final(&state) != 0;
  bytes.resize(decoded ? size : 0);
  // nettle passes over white space.
  return decoded && BASE64_ENCODE_RAW_LENGTH(size) == text.size()
             ? std::optional(bytes)
             : std::nullopt;
}

inline std::string encode_base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(),
                    reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
