// Small vocabularies for tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace headwise::testing_support {

// [PAD] [UNK] [CLS] [SEP] [MASK], ids 0 to 4, then `tokens`.
inline std::string vocabulary_text(
    std::initializer_list<std::string_view> tokens) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string_view token : tokens) {
    text += std::string(token) + "\n";
  }
  return text;
}

}  // namespace headwise::testing_support
