#include "language.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace headwise::cli {
namespace {

Language language_of_run = Language::en;

}  // namespace

Language language() { return language_of_run; }

void set_language(Language language) { language_of_run = language; }

Language language_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--lang";
  std::optional<Language> given;
  for (std::size_t n = 0; n < arguments.size() && arguments[n] != "--"; ++n) {
    const std::string_view argument = arguments[n];
    if (argument == kOption && n + 1 < arguments.size()) {
      given = Language::named(arguments[n + 1]);
    } else if (argument.starts_with("--lang=")) {
      given = Language::named(argument.substr(kOption.size() + 1));
    }
  }
  return given.value_or(language_of_environment());
}

Language language_of_environment() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') {
      // "ko", "ko_KR.UTF-8"; "kok" is Konkani.
      const std::string_view locale(value);
      return Language::named(locale.substr(0, locale.find_first_of("_.@")))
          .value_or(Language::en);
    }
  }
  return Language::en;
}

}  // namespace headwise::cli
