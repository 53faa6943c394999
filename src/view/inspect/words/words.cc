#include "inspect/words/words.h"

#include "headwise/words/language.h"

namespace headwise::inline HEADWISE_ABI {

std::string Words::filled(
    std::string_view context, std::string_view english,
    std::initializer_list<std::string_view> values) const {
  std::string_view rest = translated(language_, english, context);
  std::string text;
  while (!rest.empty()) {
    const std::size_t at = rest.find('{');
    text += rest.substr(0, at);
    if (at == std::string_view::npos) {
      break;
    }
    text += values.begin()[rest[at + 1] - '0'];
    rest.remove_prefix(at + 3);
  }
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI
