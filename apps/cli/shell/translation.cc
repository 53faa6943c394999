#include "translation.h"

#include <algorithm>

#include "language.h"

namespace headwise::cli {

std::string_view korean_of(std::string_view english) {
  for (const std::span<const Translation> table : translations()) {
    const auto found =
        std::ranges::lower_bound(table, english, {}, &Translation::en);
    if (found != table.end() && found->en == english) {
      return found->ko;
    }
  }
  return {};
}

std::string in_language(std::string_view english) {
  const std::string_view korean =
      language() == Language::ko ? korean_of(english) : std::string_view();
  return std::string(korean.empty() ? english : korean);
}

}  // namespace headwise::cli
