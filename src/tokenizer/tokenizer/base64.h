// Bytes as text, as JSON and tiktoken's files have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Nothing if `text` is not base64 with its padding.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
