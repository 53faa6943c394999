// The languages of the command's texts, of steps, pictures and pages: English,
// and one for each file in the folder po.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

// Texts in these languages. A text is known by its English and, where one
// English text has several translations, by a context. msgfmt compiles the
// translations into the library.
//
// Example:
//   std::cout << hw::translated(hw::Language::ko, "query");
//   std::cerr << hw::translated(hw::Language::ko, "masked", "error");

struct Translation {
  std::string_view english;
  std::string_view text;
};

// Nothing where there is none: in English, always.
std::optional<std::string_view> translation_of(Language language,
                                               std::string_view english,
                                               std::string_view context = {});
// English where there is no translation.
std::string_view translated(Language language, std::string_view english,
                            std::string_view context = {});
// Every translation of a context, sorted by its English.
std::vector<Translation> translations(Language language,
                                      std::string_view context);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
