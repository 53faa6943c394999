// Finds what the expressions of byte-level BPE find, with backtracking worked
// out: each rule looks at its characters once. They all cut a text into words,
// numbers, symbols and white space, and differ in a few rules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/known_patterns.h"
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
  // A space is the only lead, of words and of numbers.
  bool leads_with_space = false;
  // A word ends before a capital letter that follows a small one.
  bool cuts_at_capitals = false;
  std::size_t longest_number = 0;
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

// Bytes of the character at `at` if it is of the set, otherwise 0; also at the
// end of the text.
inline std::size_t size_of_one(std::string_view text, std::size_t at,
                               CategorySet set) {
  if (at >= text.size()) {
    return 0;
  }
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    return set.has(static_cast<Category>(kKinds[byte] & kCategoryBits)) ? 1 : 0;
  }
  const Character character = first_character(text.substr(at));
  return set.has(category(character.code)) ? character.bytes : 0;
}

// Where the run of at most `most` characters of the set that begins at `at`
// ends.
inline std::size_t end_of_run(std::string_view text, std::size_t at,
                              CategorySet set, std::size_t most = kNoLimit) {
  for (; most > 0; --most) {
    const std::size_t size = size_of_one(text, at, set);
    if (size == 0) {
      break;
    }
    at += size;
  }
  return at;
}

// The same, but 0 if the run is empty.
inline std::size_t end_of_some(std::string_view text, std::size_t at,
                               CategorySet set, std::size_t most = kNoLimit) {
  const std::size_t end = end_of_run(text, at, set, most);
  return end == at ? 0 : end;
}

// Where the last character before `at` begins.
inline std::size_t before(std::string_view text, std::size_t at) {
  do {
    --at;
  } while (continues_character(text[at]));
  return at;
}

// From here on functions return where their match at `at` ends; 0: there is
// none.
std::size_t end_of_contraction(std::string_view text, std::size_t at,
                               bool any_case);
// A word of has_ascii_words.
std::size_t end_of_ascii_word(std::string_view text, std::size_t at);

inline constexpr CategorySet kCapitalAndSmall =
    CategorySet(Category::lm, Category::lo) | categories::kMarks;
inline constexpr CategorySet kCapitals =
    CategorySet(Category::lu, Category::lt) | kCapitalAndSmall;
inline constexpr CategorySet kSmalls =
    CategorySet(Category::ll) | kCapitalAndSmall;

// The two kinds of words of cuts_at_capitals, without what may lead them.
// [capitals]*[smalls]+
inline std::size_t end_of_small_word(std::string_view text, std::size_t at) {
  const std::size_t capitals = end_of_run(text, at, kCapitals);
  if (const auto end = end_of_some(text, capitals, kSmalls)) {
    return end;
  }
  // The last letter that is both becomes the small one.
  for (std::size_t last = capitals; last > at;) {
    const std::size_t begin = before(text, last);
    if (size_of_one(text, begin, kCapitalAndSmall) != 0) {
      return last;
    }
    last = begin;
  }
  return 0;
}

// [capitals]+[smalls]*
inline std::size_t end_of_capital_word(std::string_view text, std::size_t at) {
  const std::size_t capitals = end_of_some(text, at, kCapitals);
  return capitals == 0 ? 0 : end_of_run(text, capitals, kSmalls);
}

template <const WordRules& rules>
class WordScanner {
 public:
  static void find(std::string_view text, std::vector<Match>& matches) {
    const WordScanner scanner(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = scanner.match(at);
      if (end == 0) {
        at += first_character(text.substr(at)).bytes;
        continue;
      }
      matches.push_back(
          {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
      at = end;
    }
  }

 private:
  explicit WordScanner(std::string_view text) : text_(text) {}

  bool is_at(std::size_t at, char byte) const {
    return at < text_.size() && text_[at] == byte;
  }

  std::size_t match(std::size_t at) const {
    std::size_t end = 0;
    constexpr bool any_case = rules.contractions == Contractions::any_case;
    if constexpr (any_case || rules.contractions == Contractions::lower_case) {
      end = is_at(at, '\'') ? end_of_contraction(text_, at, any_case) : 0;
    }
    if constexpr (rules.has_ascii_words) {
      end = end_of_ascii_word(text_, at);
    }
    end = end != 0 ? end : word(at);
    end = end != 0 ? end : number(at);
    end = end != 0 ? end : symbols(at);
    return end != 0 ? end : white_space(at);
  }

  std::size_t size_of_lead(std::size_t at) const {
    if constexpr (rules.leads_with_space) {
      return is_at(at, ' ') ? 1 : 0;
    }
    return is_at(at, '\r') || is_at(at, '\n')
               ? 0
               : size_of_one(text_, at, rules.lead);
  }

  template <class EndOfLetters>
  std::size_t led_word(std::size_t at,
                       const EndOfLetters& end_of_letters) const {
    const std::size_t lead = size_of_lead(at);
    const std::size_t end = end_of_letters(text_, at + lead);
    // What leads no word may be one of the letters.
    return end != 0 || lead == 0 ? end : end_of_letters(text_, at);
  }

  std::size_t word(std::size_t at) const {
    if constexpr (!rules.cuts_at_capitals) {
      return led_word(at, [](std::string_view text, std::size_t begin) {
        return end_of_some(text, begin, rules.letters);
      });
    }
    if (size_of_one(text_, at + size_of_lead(at), kLettersAndMarks) == 0 &&
        size_of_one(text_, at, kLettersAndMarks) == 0) {
      return 0;  // as below, but soon
    }
    std::size_t end = led_word(at, end_of_small_word);
    end = end != 0 ? end : led_word(at, end_of_capital_word);
    if (rules.contractions == Contractions::after_a_word && end != 0 &&
        is_at(end, '\'')) {
      return std::max(end, end_of_contraction(text_, end, true));
    }
    return end;
  }

  std::size_t number(std::size_t at) const {
    at += rules.leads_with_space && is_at(at, ' ') ? 1 : 0;
    return end_of_some(text_, at, categories::kNumbers, rules.longest_number);
  }

  std::size_t symbols(std::size_t at) const {
    at += rules.has_space_before_symbols && is_at(at, ' ') ? 1 : 0;
    std::size_t end = end_of_some(text_, at, rules.symbols);
    while (end != 0 && end < text_.size() &&
           rules.after_symbols.find(text_[end]) != std::string_view::npos) {
      ++end;
    }
    return end;
  }

  std::size_t white_space(std::size_t at) const {
    const std::size_t end =
        rules.has_white_space ? end_of_some(text_, at, categories::kWhiteSpace)
                              : 0;
    if (rules.has_line_ends) {
      for (std::size_t line_end = end; line_end > at; --line_end) {
        if (is_at(line_end - 1, '\r') || is_at(line_end - 1, '\n')) {
          return line_end;
        }
      }
    }
    // The last space belongs to the word after it.
    const std::size_t last = end == 0 ? 0 : before(text_, end);
    return end == text_.size() || last <= at ? end : last;
  }

  std::string_view text_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
