// Finds what the expressions of byte-level BPE find, with backtracking worked
// out: each rule looks at its characters once. They all cut a text into words,
// numbers, symbols and white space, and differ in a few rules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/known_patterns.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What is tried before words.
enum class FirstRule : std::uint8_t {
  none,
  contraction,  // 's|'t|'re|'ve|'m|'ll|'d
  any_case,     // (?i:'s|...)
  ascii_word,   // [!-~][A-Za-z]+, but no letter or digit before the letters
  cjk,          // ideographs and kana, as DeepSeek V3 finds them
};
enum class SpaceRule : std::uint8_t {
  none,
  spaces,     // \s+(?!\S)|\s+
  line_ends,  // \s*[\r\n]+ before that
};

inline constexpr std::size_t kNoLimit = std::string_view::npos;

// One of `lead`, which may be missing; 1 to `most` of `set`; then all there are
// of `after`.
struct PartRule {
  CategorySet lead{};  // not CR or LF
  bool leads_with_space = false;
  CategorySet set{};
  std::size_t most = kNoLimit;
  std::string_view after{};
};

// The rules in the order in which they are tried.
struct WordRules {
  FirstRule first = FirstRule::none;
  PartRule word{};
  // A word ends before a capital letter that follows a small one; its set and
  // what is after it do not count.
  bool cuts_at_capitals = false;
  bool ends_with_contraction = false;  // (?i:'s|...)? after such a word
  PartRule number{};
  PartRule symbols{};
  SpaceRule spaces = SpaceRule::none;
};

inline constexpr CategorySet kCapitalAndSmall =
    CategorySet(Category::lm, Category::lo) | categories::kMarks;
inline constexpr CategorySet kCapitals =
    CategorySet(Category::lu, Category::lt) | kCapitalAndSmall;
inline constexpr CategorySet kSmalls =
    CategorySet(Category::ll) | kCapitalAndSmall;

// Functions return where their match at `at` ends; 0: there is none.
template <const WordRules& rules>
class WordScanner {
 public:
  // Appends all matches of a text.
  static void find(std::string_view text, std::vector<Match>& matches) {
    const WordScanner scanner(text);
    for (std::uint32_t at = 0; at < text.size();) {
      const auto end = static_cast<std::uint32_t>(scanner.match(at));
      if (end == 0) {
        at += first_character(text.substr(at)).bytes;
      } else {
        matches.push_back({at, end});
        at = end;
      }
    }
  }

 private:
  explicit WordScanner(std::string_view text) : text_(text) {}

  std::size_t match(std::size_t at) const {
    std::size_t end = first(at);
    end = end != 0 ? end : word(at);
    end = end != 0 ? end : part<&WordRules::number>(at);
    end = end != 0 ? end : part<&WordRules::symbols>(at);
    return end != 0 ? end : white_space(at);
  }

  bool is_at(std::size_t at, std::string_view bytes) const {
    return at < text_.size() && std::ranges::count(bytes, text_[at]) != 0;
  }

  // 1 to `most` characters that pass the test. Inline, so that it is a
  // constant.
  template <class Test>
  [[gnu::always_inline]] std::size_t run(std::size_t at, Test test,
                                         std::size_t most = kNoLimit) const {
    std::size_t end = at;
    while (end < text_.size() && (most == kNoLimit || most-- > 0)) {
      const auto [code, bytes] = first_character(text_.substr(end));
      if (!test(code)) {
        break;
      }
      end += bytes;
    }
    return end == at ? 0 : end;
  }

  static auto of(CategorySet set) {
    return [set](char32_t code) {
      const unsigned kind = code < 0x80 ? kKinds[code] : kind_of(code);
      return set.has(static_cast<Category>(kind & kCategoryBits));
    };
  }

  std::size_t first(std::size_t at) const {
    switch (rules.first) {
      case FirstRule::none:
        return 0;
      case FirstRule::ascii_word:
        return ascii_word(at);
      case FirstRule::cjk:
        return run(at, [](char32_t code) {
          return (code >= 0x4E00 && code <= 0x9FA5) ||
                 (code >= 0x3040 && code <= 0x30FF);
        });
      default:
        return contraction(at, rules.first == FirstRule::any_case);
    }
  }

  std::size_t contraction(std::size_t at, bool any_case) const {
    if (!is_at(at, "'")) {
      return 0;
    }
    const auto is_same = [any_case](char found, char wanted) {
      return (any_case ? found | 0x20 : found) == wanted;
    };
    for (const std::string_view end : {"s", "t", "m", "d", "ll", "re", "ve"}) {
      if (std::ranges::equal(text_.substr(at + 1, end.size()), end, is_same)) {
        return at + 1 + end.size();
      }
    }
    // The long s is an s in another case.
    return any_case && text_.substr(at + 1).starts_with("\u017F") ? at + 3 : 0;
  }

  std::size_t ascii_word(std::size_t at) const {
    constexpr auto kSymbols = categories::kPunctuation | categories::kSymbols;
    const auto code = static_cast<unsigned char>(text_[at]);
    return code < 0x80 && of(kSymbols)(code)
               ? run(at + 1,
                     [](char32_t letter) {
                       return (letter | 0x20U) >= 'a' &&
                              (letter | 0x20U) <= 'z';
                     })
               : 0;
  }

  std::size_t after_lead(std::size_t at, const PartRule& rule) const {
    if (rule.leads_with_space) {
      return is_at(at, " ") ? at + 1 : at;
    }
    return is_at(at, "\r\n") ? at : std::max(at, run(at, of(rule.lead), 1));
  }

  template <PartRule WordRules::*rule_of>
  std::size_t part(std::size_t at) const {
    constexpr const PartRule& rule = rules.*rule_of;
    const std::size_t begin = after_lead(at, rule);
    std::size_t end = run(begin, of(rule.set), rule.most);
    if (end == 0 && begin > at) {  // what leads nothing may be of the set
      end = run(at, of(rule.set), rule.most);
    }
    while (end != 0 && is_at(end, rule.after)) {
      ++end;
    }
    return end;
  }

  std::size_t word(std::size_t at) const {
    if (!rules.cuts_at_capitals) {
      return part<&WordRules::word>(at);
    }
    const std::size_t begin = after_lead(at, rules.word);
    const bool has_letters = run(begin, of(kCapitals | kSmalls), 1) != 0;
    std::size_t end = has_letters ? small_word(begin) : 0;
    if (end == 0 && begin > at && run(at, of(categories::kMarks), 1) != 0) {
      end = small_word(at);  // what leads nothing is a word
    }
    if (end == 0 && has_letters) {  // [capitals]+[smalls]*, without a small one
      end = run(begin, of(kCapitals));
    }
    return end != 0 && rules.ends_with_contraction
               ? std::max(end, contraction(end, true))
               : end;
  }

  // [capitals]*[smalls]+
  std::size_t small_word(std::size_t at) const {
    const std::size_t capitals = std::max(at, run(at, of(kCapitals)));
    std::size_t end = run(capitals, of(kSmalls));
    // The last letter that is both becomes the small one.
    for (std::size_t last = capitals; end == 0 && last > at;) {
      const auto [code, bytes] = last_character(text_.substr(0, last));
      end = of(kCapitalAndSmall)(code) ? last : 0;
      last -= bytes;
    }
    return end;
  }

  std::size_t white_space(std::size_t at) const {
    const bool has_spaces = rules.spaces != SpaceRule::none;
    const std::size_t end =
        has_spaces ? run(at, of(categories::kWhiteSpace)) : 0;
    if (end == 0) {
      return 0;
    }
    if (rules.spaces == SpaceRule::line_ends) {
      for (std::size_t line_end = end; line_end > at; --line_end) {
        if (is_at(line_end - 1, "\r\n")) {
          return line_end;
        }
      }
    }
    // The last space belongs to the word after it.
    const std::size_t last = end - last_character(text_.substr(0, end)).bytes;
    return end == text_.size() || last == at ? end : last;
  }

  std::string_view text_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
