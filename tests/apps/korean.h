// The Korean that tests look for, and runs of the command in it.
#pragma once

#include <algorithm>
#include <string_view>

#include "shell/language.h"

namespace headwise::cli {

// Hangul syllables are U+AC00 to U+D7A3: EA B0 80 to ED 9E A3.
inline bool has_hangul(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xEA && byte <= 0xED;
  });
}

// The run is in Korean as long as this lives.
class InKorean {
 public:
  InKorean() { set_language(Language::ko); }
  ~InKorean() { set_language(Language::en); }
  InKorean(const InKorean&) = delete;
  InKorean& operator=(const InKorean&) = delete;
};

}  // namespace headwise::cli
