// Unicode's normal forms, in the version of the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Whether the form keeps this character and its place, unless it composes with
// what follows.
inline bool is_kept(NormalForm form, char32_t code) {
  return (traits(code).bits & static_cast<unsigned>(form)) == 0;
}

// A character of a normalised text, and how many of the text before it takes
// the place of: as TextEdit::put() expects.
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

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
