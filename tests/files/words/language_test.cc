#include "headwise/words/language.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

TEST(LanguageTest, EnglishIsFirstAndEveryCatalogueIsALanguage) {
  EXPECT_EQ(languages()[0], Language::en);
  EXPECT_EQ(Language(), Language::en);
  EXPECT_EQ(Language::named("ko"), Language::ko);
  EXPECT_EQ(Language::named("en"), Language::en);
  EXPECT_EQ(Language::named("kok"), std::nullopt);
  EXPECT_EQ(Language::ko.code(), "ko");
}

TEST(TranslationTest, TextsAreKnownByTheirEnglishAndTheirContext) {
  EXPECT_EQ(translated(Language::ko, "query"), "쿼리");
  EXPECT_EQ(translated(Language::ko, "masked"), "마스킹됨");
  EXPECT_EQ(translated(Language::ko, "masked", "error"), "마스킹");
  EXPECT_EQ(translated(Language::en, "query"), "query");
  EXPECT_EQ(translated(Language::ko, "no such text"), "no such text");
  EXPECT_EQ(translation_of(Language::ko, ""), std::nullopt);
}

TEST(TranslationTest, AContextListsItsTexts) {
  const auto page = translations(Language::ko, "page");
  ASSERT_GT(page.size(), 200u);
  for (const Translation& each : page) {
    EXPECT_EQ(translation_of(Language::ko, each.english, "page"), each.text);
  }
  EXPECT_TRUE(translations(Language::ko, "no such context").empty());
  EXPECT_TRUE(translations(Language::en, "page").empty());
}

}  // namespace
}  // namespace headwise
