// Help in the language of the run: every text of it has a translation.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "commands.h"
#include "headwise/words/language.h"
#include "korean.h"

namespace headwise::cli {
namespace {

// (B, Hkv, Lkv, D): shapes are the same everywhere.
bool has_words(const std::string& text) {
  return text.front() != '(' || text.back() != ')';
}

TEST(HelpLanguageTest, EveryTextHasItsTranslation) {
  Command chosen;
  for (const std::string& text : HeadwiseProgram(chosen).help_texts()) {
    for (const Language& language : languages().subspan(1)) {
      EXPECT_TRUE(translation_of(language, text) || !has_words(text))
          << "po/" << language.code() << ".po has no\n"
          << text;
    }
  }
}

TEST(HelpLanguageTest, HelpSpeaksTheLanguageOfTheRun) {
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
  EXPECT_NE(help_of("encode").find("--model DIR|FILE 필수"), std::string::npos);
  EXPECT_NE(help_of("encode").find("\n  FILE|-  "), std::string::npos);
}

}  // namespace
}  // namespace headwise::cli
