// Extended grapheme clusters, what a reader sees as one character, as the
// reference divides texts into them.
//
// Source: Unicode Standard Annex 29. Pairs of regional indicators are not kept
// together: no normalizer can tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What a character is to the rules.
enum class GraphemeClass : std::uint8_t {
  other,
  control,
  prepend,
  extend,
  linker,      // a virama: an extend that joins two consonants
  non_joiner,  // U+200C: an extend that keeps two consonants apart
  joiner,      // U+200D
  spacing,
  pictograph,
  consonant,
  leading,  // Hangul
  vowel,
  trailing,
  syllable
};

// The number of bytes of the first cluster of `text`, which is not empty.
std::size_t first_grapheme(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
