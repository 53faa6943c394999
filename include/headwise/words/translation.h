// Texts in other languages. A text is known by its English and, where one
// English text has several translations, by a context. The translations are in
// the folder po; msgfmt compiles them into the library.
//
// Example:
//   std::cout << hw::translated(hw::Language::ko, "query");
//   std::cerr << hw::translated(hw::Language::ko, "masked", "error");
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Translation {
  std::string_view english;
  std::string_view text;
};

// Nothing where there is none: in English, always.
std::optional<std::string_view> translation_of(Language language,
                                               std::string_view english,
                                               std::string_view context = {});
// English where there is no translation.
std::string_view translated(Language language, std::string_view english,
                            std::string_view context = {});
// Every translation of a context, sorted by its English.
std::vector<Translation> translations(Language language,
                                      std::string_view context);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
