#include "shell/phrase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwise::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(PhraseTest, ValuesAreWhatTheFormLeavesOpen) {
  EXPECT_THAT(values_in("at most 7", "at most {}"), Optional(ElementsAre("7")));
  EXPECT_THAT(values_in("7 as in a b", "{} as in {}"),
              Optional(ElementsAre("7", "a b")));
  EXPECT_THAT(values_in("the 3 of it", "the {} of it"),
              Optional(ElementsAre("3")));
  EXPECT_THAT(values_in("none", "none"), Optional(IsEmpty()));
}

TEST(PhraseTest, OtherTextsHaveNotTheForm) {
  EXPECT_EQ(values_in("at most ", "at most {}"), std::nullopt);
  EXPECT_EQ(values_in("at least 7", "at most {}"), std::nullopt);
  EXPECT_EQ(values_in("the 3 of them", "the {} of it"), std::nullopt);
  EXPECT_EQ(values_in(" as in b", "{} as in {}"), std::nullopt);
  EXPECT_EQ(values_in("none of it", "none"), std::nullopt);
  EXPECT_EQ(values_in("", "none"), std::nullopt);
  EXPECT_EQ(values_in("a b", "a b{}"), std::nullopt);
}

TEST(PhraseTest, TheLastWordsEndTheText) {
  EXPECT_THAT(values_in("a twice twice", "{} twice"),
              Optional(ElementsAre("a twice")));
}

TEST(PhraseTest, TheFormOfTheMostWordsCounts) {
  EXPECT_EQ(korean_phrase("a number from 0 on"), "0 이상의 수");
  EXPECT_EQ(korean_phrase("a number from 0 to 1"), "0에서 1 사이의 수");
  EXPECT_EQ(korean_phrase("is strided", "x"),
            "x의 원소가 메모리에 연속으로 놓여 있지 않습니다");
  EXPECT_EQ(korean_phrase("has no tokens", "x"), "x에 토큰이 없습니다");
  EXPECT_EQ(korean_phrase("has no bias", "x"), "x에 bias가 없습니다");
}

TEST(PhraseTest, AValueMayBeAPhrase) {
  EXPECT_EQ(korean_phrase("holds a negative number", "x"),
            "x에 음수가 있습니다");
  EXPECT_EQ(korean_phrase("holds 7", "x"), "x에 7이 있습니다");
}

TEST(PhraseTest, PartsAreTranslatedOneByOne) {
  EXPECT_EQ(korean_parts("line 3: w: the output", ": "), "3번째 줄: w: 출력");
  EXPECT_EQ(korean_parts("w", ": "), "w");
  EXPECT_EQ(korean_parts("", ": "), "");
}

}  // namespace
}  // namespace headwise::cli
