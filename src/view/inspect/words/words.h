// The words of steps and pictures in a language.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "headwise/version.h"
#include "headwise/words/language.h"

namespace headwise::inline HEADWISE_ABI {

// Every function may throw std::bad_alloc.
class Words {
 public:
  explicit Words(Language language) : language_(language) {}

  // The text with its values at {0}, {1}, ..:
  //   Words words(Language::ko);
  //   words("layer {0}", "3")
  template <class... Values>
  std::string operator()(std::string_view english,
                         const Values&... values) const {
    return filled({}, english, {std::string_view(values)...});
  }
  // Where one English text has several translations.
  std::string in(std::string_view context, std::string_view english) const {
    return filled(context, english, {});
  }

 private:
  std::string filled(std::string_view context, std::string_view english,
                     std::initializer_list<std::string_view> values) const;

  Language language_;
};

}  // namespace headwise::inline HEADWISE_ABI
