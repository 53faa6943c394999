// Sentences in the language of the run. The English is what the catalogues in
// the folder po know a sentence by:
//
//   say("{} of {} heads", kept, total)
//
// {fmt} checks the English against the arguments while compiling, the test
// tools.words the translations against the English.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "headwise/words/language.h"
#include "language.h"

namespace headwise::cli {

// Where one English sentence has several translations, `context` chooses one.
template <class... Args>
std::string say_in(Language language, std::string_view context,
                   fmt::format_string<std::type_identity_t<Args>...> english,
                   const Args&... args) {
  const fmt::string_view id = english;
  return fmt::vformat(translated(language, {id.data(), id.size()}, context),
                      fmt::make_format_args(args...));
}

template <class... Args>
std::string say(Language language,
                fmt::format_string<std::type_identity_t<Args>...> english,
                const Args&... args) {
  return say_in(language, {}, english, args...);
}

template <class... Args>
std::string say(fmt::format_string<std::type_identity_t<Args>...> english,
                const Args&... args) {
  return say_in(language(), {}, english, args...);
}

// A text without values, such as one of help.
inline std::string in_language(std::string_view english) {
  return std::string(translated(language(), english));
}

}  // namespace headwise::cli
