#include "language.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace headwise::cli {
namespace {

Language language_of_run = Language::en;

std::optional<Language> language_named(std::string_view name) {
  return name == "ko"   ? std::optional(Language::ko)
         : name == "en" ? std::optional(Language::en)
                        : std::nullopt;
}

}  // namespace

Language language() { return language_of_run; }

void set_language(Language language) { language_of_run = language; }

Language language_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--lang";
  std::optional<Language> given;
  for (std::size_t n = 0; n < arguments.size() && arguments[n] != "--"; ++n) {
    const std::string_view argument = arguments[n];
    if (argument == kOption && n + 1 < arguments.size()) {
      given = language_named(arguments[n + 1]);
    } else if (argument.starts_with("--lang=")) {
      given = language_named(argument.substr(kOption.size() + 1));
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
      return locale.substr(0, locale.find_first_of("_.@")) == "ko"
                 ? Language::ko
                 : Language::en;
    }
  }
  return Language::en;
}

}  // namespace headwise::cli
