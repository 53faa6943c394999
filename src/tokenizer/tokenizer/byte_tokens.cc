#include "tokenizer/byte_tokens.h"

#include <algorithm>
#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {

ByteTokens::ByteTokens(const TokenTable& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "<0x00>";
  for (std::size_t byte = 0; byte < ids_.size(); ++byte) {
    text[3] = kDigits[byte / 16];
    text[4] = kDigits[byte % 16];
    ids_[byte] = vocabulary.find(text);
  }
}

bool ByteTokens::has_all(std::string_view bytes) const {
  return std::ranges::all_of(
      bytes, [&](char byte) { return (*this)[byte].has_value(); });
}

bool ByteTokens::has_every_byte() const {
  return std::ranges::all_of(ids_,
                             [](const auto& id) { return id.has_value(); });
}

bool ByteTokens::has_id(std::uint32_t id) const {
  return std::ranges::find(ids_, id) != ids_.end();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
