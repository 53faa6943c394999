// What the expressions of byte-level BPE have in common: a text is cut into
// words, numbers, symbols and white space. They differ in a few rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "headwise/version.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

enum class Contractions : std::uint8_t {
  none,
  lower_case,    // 's|'t|'re|'ve|'m|'ll|'d, before anything else
  any_case,      // (?i:'s|...), before anything else
  after_a_word,  // (?i:'s|...)?, the end of a word
};

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
inline constexpr CategorySet kLettersAndMarks =
    categories::kLetters | categories::kMarks;
inline constexpr CategorySet kNoLettersOrNumbers =
    ~(categories::kLetters | categories::kNumbers);

// The rules in the order in which they are tried. A rule that is left out is
// not in the expression.
struct WordRules {
  Contractions contractions = Contractions::none;
  // [!-~][A-Za-z]+: a word of ASCII after a character of ASCII punctuation.
  bool has_ascii_words = false;
  // A word: letters, after one character of `lead` other than CR and LF.
  CategorySet lead{};
  CategorySet letters = categories::kLetters;
  // A space is the only lead.
  bool leads_with_space = false;
  // A word ends before a capital letter that follows a small one.
  bool cuts_at_capitals = false;
  // A number, and whether a space may come before it.
  std::size_t longest_number = 0;
  bool has_space_before_number = false;
  // Symbols after an optional space, and the characters after them that belong
  // to them.
  CategorySet symbols =
      ~(categories::kLetters | categories::kNumbers | categories::kWhiteSpace);
  bool has_space_before_symbols = true;
  std::string_view after_symbols{};
  // \s*[\r\n]+
  bool has_line_ends = true;
  // \s+(?!\S)|\s+
  bool has_white_space = true;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
