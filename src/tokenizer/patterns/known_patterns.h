// The expressions of well-known models, recognised by their texts: state
// machines find the same matches many times faster.
#pragma once

#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/pattern.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The words of GPT-2, which ByteLevel cuts a text into.
inline constexpr std::string_view kGpt2Expression =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Appends all matches of a text.
using KnownPattern = void (*)(std::string_view text,
                              std::vector<Match>& matches);

// nullptr if the expression is not known.
KnownPattern known_pattern(std::string_view expression);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
