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
extern const std::uint16_t kKindBlocks[0x110000 / 128];
extern const std::uint8_t kKinds[];

inline unsigned kind_of(char32_t code) {
  return kKinds[std::size_t{kKindBlocks[code >> 7U]} << 7U | (code & 127U)];
}

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
unsigned script_class(char32_t code);

// The characters first, first + step, ... last become lower case by adding
// `difference`. Sorted.
struct LowerCaseRun {
  char32_t first;
  char32_t last;
  char32_t step;
  std::int32_t difference;
};
extern const LowerCaseRun kLowerCase[];
extern const std::size_t kLowerCaseRuns;
// First character << 8 | class, sorted.
extern const std::uint32_t kScripts[];
extern const std::size_t kScriptRuns;

// The characters of \p{NAME} in a regular expression: those from the first edge
// up to, but without, the second, and so on in pairs. The last edge may be
// U+110000. Empty if no property has this name. Names are compared without
// case, spaces, hyphens and underscores. In brackets, `[\w]`, the engine's
// words lack six characters.
std::vector<char32_t> named_class(std::string_view name, bool in_bracket);

struct NamedClass {
  const char* name;    // "word]": words in brackets
  std::size_t offset;  // in kNamedClassRuns
};
extern const NamedClass kNamedClasses[];
extern const std::size_t kNamedClassCount;
// Of each class the number of its edges and the distances between them, from 0,
// as varints. The edge U+110000 is left out.
extern const std::uint8_t kNamedClassRuns[];

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
