#include "shell/language.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace headwise::cli {
namespace {

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

TEST_F(LanguageOfEnvironmentTest, AnOptionWinsWhereverItStands) {
  language("en_US", nullptr, nullptr);
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{"--lang", "ko", "info"},
        {"info", "--lang", "ko"},
        {"info", "--lang=ko"},
        {"--lang", "en", "info", "--lang", "ko"}}) {
    EXPECT_EQ(language_of(arguments), Language::ko) << arguments.front();
  }
  for (const Arguments& arguments : {Arguments{},
                                     {"info"},
                                     {"info", "--lang"},
                                     {"info", "--lang", "xx"},
                                     {"encode", "--", "--lang", "ko"}}) {
    EXPECT_EQ(language_of(arguments), Language::en);
  }
  language("ko_KR", nullptr, nullptr);
  EXPECT_EQ(language_of({"info", "--lang", "en"}), Language::en);
  EXPECT_EQ(language_of({"info", "--lang", "xx"}), Language::ko);
}

}  // namespace
}  // namespace headwise::cli
