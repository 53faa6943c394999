// What a character is to the reference. Its regular expressions and its Rust
// code have different versions of Unicode, so each function says whose answer
// it gives. Tables: tools/unicode_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "unicode/characters.h"
#include "unicode/packed_numbers.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// General categories, as the regular expressions know them. Two of them are
// divided: a control character may be white space, and Rust's newer Unicode has
// numbers that are unassigned to the expressions.
enum class Category : std::uint8_t {
  // clang-format off
  lu, ll, lt, lm, lo, mn, mc, me, nd, nl, no, pc, pd, ps, pe, pi, pf, po,
  sm, sc, sk, so, zs, zl, zp, cc, cf, cs, co, cn, white_cc, numeric_cn,
  // clang-format on
};

// A set of categories.
struct CategorySet {
  template <class... Categories>
  constexpr explicit CategorySet(Categories... categories)
      : bits((0U | ... | (1U << static_cast<unsigned>(categories)))) {}

  constexpr bool has(Category category) const {
    return (bits >> static_cast<unsigned>(category) & 1U) != 0;
  }
  constexpr CategorySet operator|(CategorySet other) const {
    other.bits |= bits;
    return other;
  }
  constexpr CategorySet operator~() const {
    CategorySet others;
    others.bits = ~bits;
    return others;
  }

  std::uint32_t bits;
};

namespace categories {
using enum Category;
inline constexpr CategorySet kLetters(lu, ll, lt, lm, lo);
inline constexpr CategorySet kMarks(mn, mc, me);
inline constexpr CategorySet kNumbers(nd, nl, no);
inline constexpr CategorySet kPunctuation(pc, pd, ps, pe, pi, pf, po);
inline constexpr CategorySet kSymbols(sm, sc, sk, so);
inline constexpr CategorySet kWhiteSpace(zs, zl, zp, white_cc);
}  // namespace categories

// Of each character its category, and these classes of the Rust code.
inline constexpr unsigned kCategoryBits = 0x1F;
inline constexpr unsigned kWordBit = 0x20;
inline constexpr unsigned kPunctuationBit = 0x40;
inline constexpr unsigned kAccentBit = 0x80;
extern const CodeTable kKinds;

inline unsigned kind_of(char32_t code) { return kKinds[code]; }

inline Category category(char32_t code) {
  return static_cast<Category>(kind_of(code) & kCategoryBits);
}

// \s, and Rust's white space: the same characters.
inline bool is_white_space(char32_t code) {
  return categories::kWhiteSpace.has(category(code));
}
// The bytes of it that a text begins with, and ends with.
std::uint32_t leading_space(std::string_view text);
std::uint32_t trailing_space(std::string_view text);
// \p{L} and \p{N} of the expressions.
inline bool is_letter(char32_t code) {
  return categories::kLetters.has(category(code));
}
inline bool is_number(char32_t code) {
  return categories::kNumbers.has(category(code));
}
// Rust's: the pre-tokenizer Digits.
inline bool is_numeric(char32_t code) {
  return (categories::kNumbers | CategorySet(Category::numeric_cn))
      .has(category(code));
}
// Rust's \w: the pre-tokenizer Whitespace, and single_word of added tokens.
inline bool is_word(char32_t code) { return (kind_of(code) & kWordBit) != 0; }
// Rust's: the pre-tokenizer Punctuation. Symbols of ASCII are punctuation.
inline bool is_punctuation(char32_t code) {
  return (kind_of(code) & kPunctuationBit) != 0;
}
// Rust's: what the normalizer StripAccents drops.
inline bool is_accent(char32_t code) {
  return (kind_of(code) & kAccentBit) != 0;
}

// The normalizer Lowercase. Only U+0130 has two characters.
struct LowerCase {
  char32_t first = 0;
  char32_t second = 0;  // 0: none
};
LowerCase lower_case(char32_t code);

// The pre-tokenizer UnicodeScripts cuts between characters of different
// classes; one of class 0 joins any class.
extern const CodeTable kScripts;
inline unsigned script_class(char32_t code) { return kScripts[code]; }

// The characters of \p{NAME} in a regular expression: those from the first edge
// up to, but without, the second, and so on in pairs. The last edge may be
// U+110000. Empty if no property has this name. Names are compared without
// case, spaces, hyphens and underscores. In brackets, `[\w]`, the engine's
// words lack six characters.
std::vector<char32_t> named_class(std::string_view name, bool in_bracket);

// A character becomes lower case by adding the difference at
// kLowerCases[code].
extern const CodeTable kLowerCases;
extern const std::int32_t kLowerCaseDifferences[];
// Names of the same class have a '=' between them. "word]": words in brackets.
extern const char kClassNames[];
// For each class twice the number of its edges, plus 1 if the bits of a
// CategorySet follow; then the distances between the edges, modulo U+110000,
// the first from the last edge of the class before. With a set, the edges are
// those of the characters that are only in the class or only in the set.
extern const char kClassEdges[];

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
