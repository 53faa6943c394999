// A sentence in a table of words.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The sentence with each "{n}" replaced by value n. Throws std::bad_alloc.
std::string filled(std::string_view sentence,
                   std::initializer_list<std::string_view> values);

// A sentence with kValues values at "{0}", "{1}", ... There is no default
// constructor, so a constexpr table that leaves one out does not compile; nor
// does a table with a sentence that does not use each of its values.
template <std::size_t kValues>
class Sentence {
 public:
  constexpr Sentence(const char* text)  // NOLINT(google-explicit-constructor)
      : text_(text) {
    if (text_.empty() || !takes_its_values(text_)) {
      throw "a sentence takes each of its values";  // ends the compilation
    }
  }

  constexpr std::string_view text() const { return text_; }

  template <class... Values>
  std::string operator()(const Values&... values) const {
    static_assert(sizeof...(Values) == kValues);
    return filled(text_, {std::string_view(values)...});
  }

 private:
  static constexpr bool takes_its_values(std::string_view text) {
    std::array<bool, kValues + 1> taken{};
    for (std::size_t at = text.find('{'); at != std::string_view::npos;
         at = text.find('{', at + 1)) {
      if (at + 2 >= text.size() || text[at + 2] != '}' || text[at + 1] < '0' ||
          text[at + 1] >= '0' + static_cast<int>(kValues)) {
        return false;
      }
      taken[static_cast<std::size_t>(text[at + 1] - '0')] = true;
    }
    for (std::size_t n = 0; n < kValues; ++n) {
      if (!taken[n]) {
        return false;
      }
    }
    return true;
  }

  std::string_view text_;
};

// Words that take no value.
class Word : public Sentence<0> {
 public:
  using Sentence::Sentence;
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator std::string_view() const { return text(); }
};

}  // namespace headwise::inline HEADWISE_ABI
