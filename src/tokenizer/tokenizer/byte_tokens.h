// The tokens <0x00> to <0xFF> of a vocabulary: the bytes of characters that
// have no token.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headwise/version.h"
#include "tokenizer/token_table.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class ByteTokens {
 public:
  ByteTokens() = default;  // none
  explicit ByteTokens(const TokenTable& vocabulary);

  std::optional<std::uint32_t> operator[](char byte) const {
    return ids_[static_cast<unsigned char>(byte)];
  }
  bool has_all(std::string_view bytes) const;
  bool has_every_byte() const;
  bool has_id(std::uint32_t id) const;

 private:
  std::array<std::optional<std::uint32_t>, 256> ids_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
