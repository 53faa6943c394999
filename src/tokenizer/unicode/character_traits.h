// What a character is to the normalizers of the reference: models were trained
// on its choices, and its parts have different versions of Unicode. Tables:
// tools/character_traits.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What a character is to the rules of grapheme clusters.
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

struct CharacterTraits {
  unsigned bits;
  std::uint8_t combining_class;  // adjacent marks (not 0) are sorted by it
  GraphemeClass grapheme_class;
};

// The bit of a normal form: it changes or moves the character, or composes it
// with the one before it.
enum class NormalForm : unsigned { nfc = 1, nfd = 2, nfkc = 4, nfkd = 8 };
// To BertNormalizer: dropped; a space, other than U+0020; an ideograph that is
// a separate word; an accent, once it is decomposed.
inline constexpr unsigned kDroppedBit = 0x10;
inline constexpr unsigned kSpaceBit = 0x20;
inline constexpr unsigned kIdeographBit = 0x40;
inline constexpr unsigned kNonspacingBit = 0x80;
inline constexpr unsigned kUpperCaseBit = 0x100;  // has a lower case

extern const std::uint16_t kTraitBlocks[0x110000 / 128];
extern const std::uint8_t kTraitRows[];
extern const CharacterTraits kTraits[];

inline const CharacterTraits& traits(char32_t code) {
  return kTraits[kTraitRows[std::size_t{kTraitBlocks[code >> 7U]} << 7U |
                            (code & 127U)]];
}

// The number of bytes of the first extended grapheme cluster of `text`, which
// is not empty: what a reader sees as one character.
//
// Source: Unicode Standard Annex 29. Pairs of regional indicators are not kept
// together: no normalizer can tell.
std::size_t first_grapheme(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
