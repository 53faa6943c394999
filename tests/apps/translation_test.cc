// The Korean of help is there for every command, and nothing else is.
#include "shell/translation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "commands.h"
#include "korean.h"
#include "shell/progress_bar.h"
#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

std::set<std::string> texts_of_help() {
  Command chosen;
  const auto texts = HeadwiseProgram(chosen).help_texts();
  return {texts.begin(), texts.end()};
}

// (B, Hkv, Lkv, D): shapes are the same everywhere.
bool has_words(std::string_view text) {
  return text.front() != '(' || text.back() != ')';
}

TEST(TranslationTest, EveryTextOfHelpHasItsKorean) {
  for (const std::string& text : texts_of_help()) {
    EXPECT_FALSE(korean_of(text).empty()) << "no Korean in a korean.cc of\n"
                                          << text;
  }
}

TEST(TranslationTest, KoreanIsKoreanAndEnglishIsNot) {
  for (const auto table : translations()) {
    for (const auto& [en, ko] : table) {
      EXPECT_FALSE(has_hangul(en)) << en;
      EXPECT_TRUE(has_hangul(ko) || !has_words(en)) << en;
    }
  }
}

TEST(TranslationTest, NoHelpIsTranslatedThatIsGone) {
  const std::set<std::string> texts = texts_of_help();
  for (const auto table : translations()) {
    if (table.data() == korean_words().data()) {
      continue;  // they are no help
    }
    for (const auto& [en, ko] : table) {
      EXPECT_TRUE(texts.contains(std::string(en)))
          << "no help of any command has\n"
          << en;
    }
  }
}

TEST(TranslationTest, HelpSpeaksTheLanguageOfTheRun) {
  const auto help_of = [](const char* command) {
    Command chosen;
    return HeadwiseProgram(chosen).parse({command, "--help-all"}).text.value();
  };
  EXPECT_FALSE(has_hangul(help_of("explain")));
  const InKorean korean;
  const std::string help = help_of("explain");
  for (const char* text :
       {"예제:\n", "사용법: headwise explain [옵션] [SENTENCE]\n",
        "\n마스크(함께 쓸 수 있음):\n", "  --seed N  ", "--lang en|ko"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text;
  }
  EXPECT_NE(help_of("encode").find("--model DIR 필수"), std::string::npos);
  EXPECT_NE(help_of("encode").find("\n  FILE|-  "), std::string::npos);
}

TEST(TranslationTest, UnknownTextsStayAsTheyAre) {
  const InKorean korean;
  EXPECT_EQ(in_language("no such text"), "no such text");
  EXPECT_EQ(in_language("train"), "학습");
  EXPECT_EQ(in_language(""), "");
}

}  // namespace
}  // namespace headwise::cli
