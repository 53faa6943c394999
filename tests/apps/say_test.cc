#include "shell/say.h"

#include <gtest/gtest.h>

#include <string>

#include "korean.h"

namespace headwise::cli {
namespace {

// English that does not fit its arguments does not compile; these are the ways
// to say a sentence.
TEST(SayTest, SpeaksTheLanguageThatIsGivenOrThatOfTheRun) {
  EXPECT_EQ(say(Language::ko, "{} heads, vocabulary {}", 3, 5),
            "3 heads, vocabulary 5");  // no sentence of the command
  EXPECT_EQ(say(Language::en, "{:.0f} bytes", 9.0), "9 bytes");
  EXPECT_EQ(say(Language::ko, "{:.0f} bytes", 9.0), "9바이트");
  EXPECT_EQ(say("{:.0f} bytes", 9.0), "9 bytes");
  EXPECT_EQ(say_in(Language::ko, "plan", "causal"), "인과 마스크");
  EXPECT_EQ(say(Language::ko, "causal"), "인과");
  const InKorean korean;
  EXPECT_EQ(say("{:.0f} bytes", 9.0), "9바이트");
}

TEST(SayTest, UnknownTextsStayAsTheyAre) {
  const InKorean korean;
  EXPECT_EQ(in_language("no such text"), "no such text");
  EXPECT_EQ(in_language("train"), "학습");
  EXPECT_EQ(in_language(""), "");
}

}  // namespace
}  // namespace headwise::cli
