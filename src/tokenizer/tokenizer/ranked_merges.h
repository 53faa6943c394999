// SentencePiece and tiktoken join the two adjacent parts whose joined text is
// the token of the lowest rank. BPE has a list of the pairs that it may join.
// Both give the same tokens with one pair for each token: the last that is
// joined if its text is all there is. Nothing outside of a text changes what is
// joined inside, as long as no part reaches over its ends.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct RankedToken {
  std::string_view text;
  std::uint32_t rank = 0;  // several tokens may have one: the leftmost is first
};

struct RankedMerge {
  std::string_view left;
  std::string_view right;
  std::uint32_t rank = 0;
};

// What texts are cut into at first.
enum class FirstParts { bytes, characters };

// In the order of ranks. A token that no joining leads to has none. Texts are
// different; with characters they are valid UTF-8.
std::vector<RankedMerge> merges_of(std::span<const RankedToken> tokens,
                                   FirstParts first);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
