// Sentences in English and Korean, side by side where they are said:
//
//   say({"{} of {} heads", "헤드 {1}개 중 {0}개"}, kept, total)
//
// {fmt} checks both against the arguments while compiling.
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "language.h"

namespace headwise::cli {

template <class... Args>
struct Sentence {
  fmt::format_string<Args...> en;
  fmt::format_string<Args...> ko;
};

template <class... Args>
std::string say(Language language,
                const Sentence<std::type_identity_t<Args>...>& sentence,
                const Args&... args) {
  return fmt::vformat(language == Language::ko ? sentence.ko : sentence.en,
                      fmt::make_format_args(args...));
}

// In the language of the run.
template <class... Args>
std::string say(const Sentence<std::type_identity_t<Args>...>& sentence,
                const Args&... args) {
  return say(language(), sentence, args...);
}

}  // namespace headwise::cli
