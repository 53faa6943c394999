#include "headwise/words/language.h"

#include <algorithm>
#include <vector>

#include "words/catalogue.h"

namespace headwise::inline HEADWISE_ABI {

std::span<const Language> languages() {
  static const std::vector<Language> all = [] {
    std::vector<Language> found{Language::en};
    const auto bytes = catalogue_file("LINGUAS");
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()),
                          bytes.size());
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      found.push_back(Language(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
    return found;
  }();
  return all;
}

std::optional<Language> Language::named(std::string_view code) {
  const auto found = std::ranges::find(languages(), code, &Language::code);
  return found == languages().end() ? std::nullopt : std::optional(*found);
}

}  // namespace headwise::inline HEADWISE_ABI
