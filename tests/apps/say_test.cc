#include "shell/say.h"

#include <gtest/gtest.h>

#include <string>

#include "korean.h"

namespace headwise::cli {
namespace {

// What takes a Korean sentence that does not fit its arguments does not
// compile; these are the two ways to say one.
TEST(SayTest, SpeaksTheLanguageThatIsGivenOrThatOfTheRun) {
  constexpr Sentence<int, std::string> kOf = {"{} of {}", "{1} 중 {0}"};
  EXPECT_EQ(say(Language::en, kOf, 3, std::string("all")), "3 of all");
  EXPECT_EQ(say(Language::ko, kOf, 3, std::string("all")), "all 중 3");
  EXPECT_EQ(say({"{:.1f} s", "{:.1f}초"}, 0.25), "0.2 s");
  const InKorean korean;
  EXPECT_EQ(say({"{:.1f} s", "{:.1f}초"}, 0.25), "0.2초");
  EXPECT_EQ(say({"done", "끝"}), "끝");
}

}  // namespace
}  // namespace headwise::cli
