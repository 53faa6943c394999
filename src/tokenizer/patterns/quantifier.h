// How often a part of an expression is repeated: ? * + {2,3}, and what may
// follow it, ? (as few as possible) or + (for good).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct Quantifier {
  std::size_t size = 0;        // bytes
  std::uint32_t most = 0;      // 0: no limit
  bool is_possessive = false;  // gives nothing back
};

// The quantifier that a text begins with; nothing if it begins with none. A
// brace that belongs to none is a literal.
std::optional<Quantifier> read_quantifier(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
