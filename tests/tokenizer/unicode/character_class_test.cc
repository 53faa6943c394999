#include "unicode/character_class.h"

#include <gtest/gtest.h>

namespace headwise::tokenizer {
namespace {

// Each number of characters is that of the reference, over all characters.
TEST(CharacterClass, HasAsManyCharactersAsTheReference) {
  std::size_t letters = 0;
  std::size_t numbers = 0;
  std::size_t numeric = 0;
  std::size_t spaces = 0;
  std::size_t words = 0;
  std::size_t punctuation = 0;
  std::size_t accents = 0;
  std::size_t changed = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    letters += is_letter(code) ? 1 : 0;
    numbers += is_number(code) ? 1 : 0;
    numeric += is_numeric(code) ? 1 : 0;
    spaces += is_white_space(code) ? 1 : 0;
    words += is_word(code) ? 1 : 0;
    punctuation += is_punctuation(code) ? 1 : 0;
    accents += is_accent(code) ? 1 : 0;
    changed += lower_case(code).first != code ? 1 : 0;
  }
  EXPECT_EQ(letters, 141028);
  EXPECT_EQ(numbers, 1911);
  EXPECT_EQ(numeric, 1924);
  EXPECT_EQ(spaces, 25);
  EXPECT_EQ(words, 144667);
  EXPECT_EQ(punctuation, 726);
  EXPECT_EQ(accents, 2097);
  EXPECT_EQ(changed, 1488);
}

TEST(CharacterClass, KnowsWhereTheVersionsOfUnicodeDiffer) {
  EXPECT_TRUE(is_numeric(0x11DE0));  // Unicode 17
  EXPECT_FALSE(is_number(0x11DE0));
  EXPECT_EQ(category(0x11DE0), Category::numeric_cn);
  EXPECT_FALSE(is_punctuation(0x9FD));  // newer than Rust's table
  EXPECT_TRUE(is_punctuation('$'));
  EXPECT_FALSE(is_accent(0x7FD));
  EXPECT_TRUE(is_accent(0x903));  // takes space
  EXPECT_TRUE(is_word(0x200D));
  EXPECT_FALSE(is_word(0xB2));
  EXPECT_FALSE(is_white_space(0x180E));
  EXPECT_TRUE(is_white_space(0x85));
}

TEST(CharacterClass, LowerCase) {
  EXPECT_EQ(lower_case('Q').first, U'q');
  EXPECT_EQ(lower_case('[').first, U'[');
  EXPECT_EQ(lower_case(0x130).first, U'i');
  EXPECT_EQ(lower_case(0x130).second, U'\u0307');
  EXPECT_EQ(lower_case(0x1E9E).first, U'\u00DF');
  EXPECT_EQ(lower_case(0x101).first, 0x101U);  // between two of a run
  EXPECT_EQ(lower_case(0x10D65).first, 0x10D85U);
  EXPECT_EQ(lower_case(0x10FFFF).first, 0x10FFFFU);
}

TEST(CharacterClass, ScriptsThatAreCutApart) {
  EXPECT_EQ(script_class(' '), 0U);
  EXPECT_EQ(script_class(0x4E2D), script_class(0x30A2));  // Han, Katakana
  EXPECT_EQ(script_class(0x4E2D), script_class(0x3042));  // Hiragana
  EXPECT_EQ(script_class(0x4E2D), script_class(0x30FC));
  EXPECT_NE(script_class(0x4E2D), script_class(0xAC00));
  EXPECT_NE(script_class('a'), script_class('1'));
  EXPECT_EQ(script_class('1'), script_class('.'));
}

TEST(NamedClass, FindsPropertiesByLooseNames) {
  EXPECT_EQ(named_class("XDigit", false),
            (std::vector<char32_t>{'0', '9' + 1, 'A', 'F' + 1, 'a', 'f' + 1}));
  EXPECT_EQ(named_class("x-di_g it", false), named_class("XDigit", false));
  EXPECT_EQ(named_class("PrivateUse", false).back(), 0x10FFFEU);
  EXPECT_EQ(named_class("Unassigned", false).back(), 0x110000U);
  EXPECT_TRUE(named_class("Nothing", false).empty());
  EXPECT_TRUE(named_class("word]x", false).empty());
  EXPECT_NE(named_class("word", false), named_class("word", true));
}

}  // namespace
}  // namespace headwise::tokenizer
