#include "headwise/words/language.h"
#include "words/catalogue.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::string beginning_of(std::string_view context) {
  return context.empty() ? std::string() : std::string(context) + kAfterContext;
}

}  // namespace

std::optional<std::string_view> translation_of(Language language,
                                               std::string_view english,
                                               std::string_view context) {
  if (english.empty()) {  // the id of a catalogue's header
    return std::nullopt;
  }
  const Catalogue catalogue = catalogue_of(language.code());
  // The command asks for texts without a context when no memory is left.
  return context.empty()
             ? catalogue.find(english)
             : catalogue.find(beginning_of(context).append(english));
}

std::string_view translated(Language language, std::string_view english,
                            std::string_view context) {
  return translation_of(language, english, context).value_or(english);
}

std::vector<Translation> translations(Language language,
                                      std::string_view context) {
  const Catalogue catalogue = catalogue_of(language.code());
  const std::string beginning = beginning_of(context);
  std::vector<Translation> found;
  for (std::size_t n = catalogue.place_of(beginning); n < catalogue.size();
       ++n) {
    const std::string_view id = catalogue.id(n);
    if (!id.starts_with(beginning)) {
      break;
    }
    found.push_back({id.substr(beginning.size()), catalogue.text(n)});
  }
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
