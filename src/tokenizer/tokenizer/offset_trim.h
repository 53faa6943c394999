// Offsets of byte-level tokens without the spaces around words.
#pragma once

#include <string_view>

#include "headwise/tokenizer/encoding.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Takes as many characters of `text` from each side of `span` as the token has
// white space there, counting U+0120. A single one stays before the token if
// `keeps_only`.
void trim_offsets(std::string_view text, std::string_view token,
                  bool keeps_only, ByteSpan& span);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
