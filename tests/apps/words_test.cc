#include "words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace headwise::cli {
namespace {

bool has_hangul(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xEA && byte <= 0xED;
  });
}

// The placeholders with their formats: "{}" counted as {fmt} numbers them.
std::multiset<std::string> placeholders(std::string_view text) {
  std::multiset<std::string> found;
  int next = 0;
  for (std::size_t at = text.find('{'); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    std::string inside(text.substr(at + 1, text.find('}', at) - at - 1));
    if (inside.empty() || inside.front() == ':') {
      inside.insert(0, std::to_string(next++));
    }
    found.insert(inside);
  }
  return found;
}

TEST(WordsTest, EveryKeyHasASentenceInBothLanguages) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(Word::count); ++n) {
    const auto word = static_cast<Word>(n);
    const std::string_view en = text_of(word, Language::en);
    const std::string_view ko = text_of(word, Language::ko);
    EXPECT_FALSE(en.empty()) << n;
    EXPECT_FALSE(has_hangul(en)) << en;
    // "scale = ...", "softcap = ..." are formulas and the same everywhere.
    EXPECT_TRUE(has_hangul(ko) || word == Word::scale || word == Word::softcap)
        << ko;
  }
}

TEST(WordsTest, BothLanguagesTakeTheSameNumbersTheSameWay) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(Word::count); ++n) {
    const auto word = static_cast<Word>(n);
    EXPECT_EQ(placeholders(text_of(word, Language::en)),
              placeholders(text_of(word, Language::ko)))
        << text_of(word, Language::ko);
  }
}

// Sets the variables of the locale, and puts the old ones back.
class LanguageOfEnvironmentTest : public testing::Test {
 protected:
  LanguageOfEnvironmentTest() {
    for (const char* name : kNames) {
      const char* value = ::getenv(name);
      old_.emplace_back(value != nullptr, value != nullptr ? value : "");
    }
  }
  void TearDown() override {
    for (std::size_t n = 0; n < kNames.size(); ++n) {
      old_[n].first ? ::setenv(kNames[n], old_[n].second.c_str(), 1)
                    : ::unsetenv(kNames[n]);
    }
  }

  static Language language(const char* all, const char* messages,
                           const char* lang) {
    const std::array<const char*, 3> values = {all, messages, lang};
    for (std::size_t n = 0; n < kNames.size(); ++n) {
      values[n] != nullptr ? ::setenv(kNames[n], values[n], 1)
                           : ::unsetenv(kNames[n]);
    }
    return language_of_environment();
  }

 private:
  static constexpr std::array<const char*, 3> kNames = {"LC_ALL", "LC_MESSAGES",
                                                        "LANG"};
  std::vector<std::pair<bool, std::string>> old_;
};

TEST_F(LanguageOfEnvironmentTest, KoreanForKoreanLocalesOnly) {
  for (const char* lang :
       {"ko", "ko_KR", "ko_KR.UTF-8", "ko.utf8", "ko_KP@x"}) {
    EXPECT_EQ(language(nullptr, nullptr, lang), Language::ko) << lang;
  }
  for (const char* lang : {"C", "en_US.UTF-8", "kok_IN", "korean?", "", "k"}) {
    EXPECT_EQ(language(nullptr, nullptr, lang), Language::en) << lang;
  }
  EXPECT_EQ(language(nullptr, nullptr, nullptr), Language::en);
}

TEST_F(LanguageOfEnvironmentTest, TheStrongerVariableWinsAndEmptyIsUnset) {
  EXPECT_EQ(language("en_US", "ko", "ko"), Language::en);
  EXPECT_EQ(language(nullptr, "ko", "en_US"), Language::ko);
  EXPECT_EQ(language("", "", "ko"), Language::ko);
}

}  // namespace
}  // namespace headwise::cli
