// Finds what an expression of WordRules finds, with backtracking worked out:
// each rule looks at its characters once.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/character_run.h"
#include "patterns/pattern.h"
#include "patterns/word_rules.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Where the contraction at `at` ends; `at` if there is none.
std::size_t end_of_contraction(std::string_view text, std::size_t at,
                               bool any_case);
// Where a word of has_ascii_words ends; `at` if there is none.
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
  const std::size_t end = end_of_run(text, capitals, kSmalls);
  if (end != capitals) {
    return end;
  }
  // No small letter follows: the last letter that is both becomes the small
  // one.
  for (std::size_t last = end; last > at;) {
    const std::size_t begin = before(text, last);
    if (size_of_one(text, begin, kCapitalAndSmall) != 0) {
      return last;
    }
    last = begin;
  }
  return at;
}

// [capitals]+[smalls]*
inline std::size_t end_of_capital_word(std::string_view text, std::size_t at) {
  const std::size_t capitals = end_of_run(text, at, kCapitals);
  return capitals == at ? at : end_of_run(text, capitals, kSmalls);
}

// Each function returns where its match at `at` ends; `at` if there is none.
template <const WordRules& rules>
class WordScanner {
 public:
  static void find(std::string_view text, std::vector<Match>& matches) {
    const WordScanner scanner(text);
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = scanner.match(at);
      if (end == at) {
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
    std::size_t end = at;
    if constexpr (rules.contractions == Contractions::lower_case ||
                  rules.contractions == Contractions::any_case) {
      if (text_[at] == '\'') {
        end = end_of_contraction(text_, at,
                                 rules.contractions == Contractions::any_case);
      }
    }
    if constexpr (rules.has_ascii_words) {
      end = end == at ? end_of_ascii_word(text_, at) : end;
    }
    end = end == at ? word(at) : end;
    end = end == at ? number(at) : end;
    end = end == at ? symbols(at) : end;
    return end == at ? white_space(at) : end;
  }

  std::size_t size_of_lead(std::size_t at) const {
    if constexpr (rules.leads_with_space) {
      return is_at(at, ' ') ? 1 : 0;
    }
    return is_at(at, '\r') || is_at(at, '\n')
               ? 0
               : size_of_one(text_, at, rules.lead);
  }

  std::size_t word(std::size_t at) const {
    if constexpr (rules.cuts_at_capitals) {
      return cut_word(at);
    }
    // What leads a word may be one of its letters: then it is not the lead.
    std::size_t end = end_of_run(text_, at, rules.letters);
    if (end == at) {
      const std::size_t begin = at + size_of_lead(at);
      end = end_of_run(text_, begin, rules.letters);
      end = end == begin ? at : end;
    }
    return end;
  }

  std::size_t cut_word(std::size_t at) const {
    if (size_of_one(text_, at + size_of_lead(at), kLettersAndMarks) == 0 &&
        size_of_one(text_, at, kLettersAndMarks) == 0) {
      return at;  // as below, but soon
    }
    std::size_t end = cut_word(at, end_of_small_word);
    end = end == at ? cut_word(at, end_of_capital_word) : end;
    return end == at || rules.contractions != Contractions::after_a_word
               ? end
               : end_of_contraction(text_, end, true);
  }

  template <class EndOfWord>
  std::size_t cut_word(std::size_t at, const EndOfWord& end_of_word) const {
    const std::size_t begin = at + size_of_lead(at);
    const std::size_t end = end_of_word(text_, begin);
    // What leads no word may be one of the letters.
    return end == begin ? end_of_word(text_, at) : end;
  }

  std::size_t number(std::size_t at) const {
    const std::size_t begin =
        at + (rules.has_space_before_number && is_at(at, ' ') ? 1 : 0);
    const std::size_t end =
        end_of_run(text_, begin, categories::kNumbers, rules.longest_number);
    return end == begin ? at : end;
  }

  std::size_t symbols(std::size_t at) const {
    const std::size_t begin =
        at + (rules.has_space_before_symbols && is_at(at, ' ') ? 1 : 0);
    std::size_t end = end_of_run(text_, begin, rules.symbols);
    if (end == begin) {
      return at;
    }
    while (end < text_.size() &&
           rules.after_symbols.find(text_[end]) != std::string_view::npos) {
      ++end;
    }
    return end;
  }

  std::size_t white_space(std::size_t at) const {
    if (!rules.has_white_space) {
      return at;
    }
    const std::size_t end = end_of_run(text_, at, categories::kWhiteSpace);
    if (end == at) {
      return at;
    }
    if (rules.has_line_ends) {
      for (std::size_t line_end = end; line_end > at; --line_end) {
        if (is_at(line_end - 1, '\r') || is_at(line_end - 1, '\n')) {
          return line_end;
        }
      }
    }
    // The last space belongs to the word after it.
    const std::size_t last = before(text_, end);
    return end == text_.size() || last == at ? end : last;
  }

  std::string_view text_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
