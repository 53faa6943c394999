#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {

std::string filled(std::string_view sentence,
                   std::initializer_list<std::string_view> values) {
  std::string text;
  while (!sentence.empty()) {
    const std::size_t at = sentence.find('{');
    text += sentence.substr(0, at);
    if (at == std::string_view::npos) {
      break;
    }
    text += values.begin()[sentence[at + 1] - '0'];
    sentence.remove_prefix(at + 3);
  }
  return text;
}

const Words& words_of(Language language) {
  return language == Language::ko ? kKoreanWords : kEnglishWords;
}

}  // namespace headwise::inline HEADWISE_ABI
