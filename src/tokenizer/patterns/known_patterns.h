// The expressions of well-known models, recognised by their texts: state
// machines find the same matches many times faster.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/pattern.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The words of GPT-2, which ByteLevel cuts a text into.
inline constexpr std::string_view kGpt2Expression =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct KnownPattern {
  std::string_view expression;  // line ends written as \r and \n
  // Appends all matches of a text.
  void (*find)(std::string_view text, std::vector<Match>& matches);
};
extern const std::span<const KnownPattern> kKnownPatterns;

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
