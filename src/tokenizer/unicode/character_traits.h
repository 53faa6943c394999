// What a character is to the normalizers of the reference: models were trained
// on its choices, and its parts have different versions of Unicode. Tables:
// tools/character_traits.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

// Where in kDecomposedTexts the decompositions of a character are: in full, the
// canonical one (none: it is kept) and the compatible one.
struct DecomposedCharacter {
  char32_t code;
  std::uint16_t begin[2];
  std::uint8_t count[2];
};
extern const DecomposedCharacter kDecomposed[];  // sorted, without Hangul
extern const std::size_t kDecomposedCount;
extern const char32_t kDecomposedTexts[];

struct ComposedPair {
  char32_t first;
  char32_t second;
  char32_t both;
};
extern const ComposedPair kComposed[];  // sorted, without Hangul
extern const std::size_t kComposedCount;

// The number of bytes of the first extended grapheme cluster of `text`, which
// is not empty: what a reader sees as one character.
//
// Source: Unicode Standard Annex 29. Pairs of regional indicators are not kept
// together: no normalizer can tell.
std::size_t first_grapheme(std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
