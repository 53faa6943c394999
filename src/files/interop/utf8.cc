#include "interop/utf8.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/out_of_memory.h"

namespace headwise::internal::inline HEADWISE_ABI {

std::optional<DecodedCharacter> decode_utf8(std::string_view text) {
  constexpr std::size_t kLongest = 4;
  if (text.empty()) {
    return {};
  }
  if (const auto byte = static_cast<unsigned char>(text[0]); byte < 0x80) {
    return DecodedCharacter{byte, 1};
  }
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(std::min(text.size(), kLongest)), &code);
  if (bytes <= 0) {
    return {};
  }
  return DecodedCharacter{static_cast<char32_t>(code),
                          static_cast<std::size_t>(bytes)};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text.substr(at));
    if (!character) {
      return at;
    }
    at += character->bytes;
  }
  return {};
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

Status check_utf8(ErrorDetails about, std::string_view text) try {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::optional<std::size_t> at = find_invalid_utf8(text);
  if (!at) {
    return ok();
  }
  const auto byte = static_cast<unsigned char>(text[*at]);
  about.given =
      message("is not UTF-8 text: its byte {} (0x{}{}) begins no character",
              *at, kDigits[byte >> 4], kDigits[byte & 15]);
  return Error{ErrorCode::bad_data, std::move(about)};
} catch (...) {
  return caught_out_of_memory();
}

Status check_utf8(const FileSubject& about, std::string_view text) {
  return check_utf8(ErrorDetails{.operation = about.operation,
                                 .file = about.file,
                                 .entry = about.entry},
                    text);
}

}  // namespace headwise::inline HEADWISE_ABI
