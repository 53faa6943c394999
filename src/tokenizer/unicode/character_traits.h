// What a character is to the normalizers of the reference: models were trained
// on its choices, and its parts have different versions of Unicode. Tables:
// tools/unicode_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "unicode/packed_numbers.h"

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

extern const CodeTable kTraitRows;
// The bits, then the combining class << 9, then the grapheme class << 17.
extern const unsigned kTraits[];

inline CharacterTraits traits(char32_t code) {
  const unsigned row = kTraits[kTraitRows[code]];
  return {row & 0x1FFU, static_cast<std::uint8_t>(row >> 9U & 0xFFU),
          static_cast<GraphemeClass>(row >> 17U)};
}

// Whether the form keeps this character and its place, unless it composes with
// what follows.
inline bool is_kept(NormalForm form, char32_t code) {
  return (traits(code).bits & static_cast<unsigned>(form)) == 0;
}

// A character of a normalised text, and how many of the text before it takes
// the place of: as TextEdit::put_changed() expects.
struct NormalPiece {
  char32_t code;
  std::int32_t change;
  std::uint8_t combining_class;
};

// Adds the decomposition of a character. Only NFKC and NFKD have those of
// compatible characters.
void decompose(NormalForm form, char32_t code,
               std::vector<NormalPiece>& pieces);
void sort_marks(std::span<NormalPiece> pieces);
// Writes the normal form of `codes` in place of what `normal` has.
void normalize(NormalForm form, std::u32string_view codes,
               std::vector<NormalPiece>& normal);

// For each character with a decomposition, Hangul aside: 4 times the number of
// codes skipped, plus the number of its parts (0: it follows); then each part
// minus the previous one at its place. Parts may have parts. NFC composes two
// parts if NFD, but not NFC, changes the character.
extern const char kDecompositions[];

// The number of bytes of the first extended grapheme cluster of `text`, which
// is not empty: what a reader sees as one character.
//
// Source: Unicode Standard Annex 29. Pairs of regional indicators are not kept
// together: no normalizer can tell.
std::size_t first_grapheme(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
