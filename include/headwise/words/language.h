// The languages of the command's texts, of steps, pictures and pages: English,
// and one for each file in the folder po.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Language {
 public:
  static const Language en;
  static const Language ko;
  // "ko" of po/ko.po, or "en"; nothing for other names.
  static std::optional<Language> named(std::string_view code);

  constexpr Language() = default;  // English
  constexpr std::string_view code() const { return code_; }
  friend constexpr bool operator==(Language, Language) = default;

 private:
  friend std::span<const Language> languages();
  // `code` outlives the program.
  constexpr explicit Language(std::string_view code) : code_(code) {}

  std::string_view code_ = "en";
};

inline constexpr Language Language::en;
inline constexpr Language Language::ko{"ko"};

// English, then the others by their codes.
std::span<const Language> languages();

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
