// The expressions of well-known models, recognised by their texts: state
// machines find the same matches many times faster.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/pattern.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Appends all matches of a text.
using KnownPattern = void (*)(std::string_view text,
                              std::vector<Match>& matches);

// nullptr if the expression is not known.
KnownPattern known_pattern(std::string_view expression);

// The words of GPT-2, which ByteLevel cuts a text into.
inline constexpr std::string_view kGpt2Expression =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct KnownRow {
  std::string_view expression;  // line ends written as \r and \n
  KnownPattern find;
};
extern const std::span<const KnownRow> kKnownPatterns;

// Ideographs and kana, as DeepSeek V3 finds them.
void find_cjk(std::string_view text, std::vector<Match>& matches);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
