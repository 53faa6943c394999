// BERT's normalisation, character by character, with the bytes that each came
// from. Every expectation is what the reference tokenizer gives.
#include "models/bert_text.h"

#include <gtest/gtest.h>

#include <string>

#include "interop/utf8.h"
#include "models/bert_characters.h"

namespace headwise::bert {
namespace {

constexpr WordPieceOptions kCased{.do_lower_case = false};
constexpr WordPieceOptions kLowerOnly{.do_lower_case = true,
                                      .strip_accents = false};
constexpr WordPieceOptions kStripOnly{.do_lower_case = false,
                                      .strip_accents = true};

// The normalised text.
std::string normalised(std::string_view text,
                       const WordPieceOptions& options = {}) {
  BertText characters(text, 0, options);
  std::string result;
  while (const auto character = characters.next()) {
    append_utf8(result, character->code);
  }
  return result;
}

// "a0-1 b1-2": the characters with their bytes.
std::string sources(std::string_view text, const WordPieceOptions& options = {},
                    std::size_t begin = 0) {
  BertText characters(text, begin, options);
  std::string result;
  while (const auto character = characters.next()) {
    result += result.empty() ? "" : " ";
    append_utf8(result, character->code);
    result += std::to_string(character->from.begin) + "-" +
              std::to_string(character->from.end);
  }
  return result;
}

TEST(BertTextTest, NulReplacementControlAndFormatCharactersAreDropped) {
  EXPECT_EQ(normalised({"a\0b", 3}), "ab");
  EXPECT_EQ(normalised("a\uFFFDb"), "ab");
  EXPECT_EQ(normalised("a\x01\x1f\x7f\u0085\u009Fb"), "ab");
  EXPECT_EQ(normalised("a\u00AD\u200B\u200D\u2060\uFEFFb"), "ab");
  EXPECT_EQ(normalised("\x02"), "");
}

TEST(BertTextTest, WhiteSpaceBecomesASpaceAndWhatIsAlsoControlIsDropped) {
  EXPECT_EQ(normalised("a\tb\nc\rd e"), "a b c d e");
  EXPECT_EQ(normalised("a\u00A0b\u1680c\u2003d\u2028e\u2029f\u202Fg\u3000h"),
            "a b c d e f g h");
  EXPECT_EQ(normalised("a\vb\fc"), "abc");
}

TEST(BertTextTest, CjkIdeographsGetASpaceOnBothSides) {
  EXPECT_EQ(normalised("a\u4E2D\u6587b"), "a \u4E2D  \u6587 b");
  EXPECT_EQ(normalised("\U00020000"), " \U00020000 ");
  // Kana and Hangul are words; so are ideographs where that is asked.
  EXPECT_EQ(normalised("\u30ABa"), "\u30ABa");
  EXPECT_EQ(normalised("a\u4E2Db", {.tokenize_chinese_chars = false}),
            "a\u4E2Db");
  EXPECT_EQ(sources("a\u4E2Db"), "a0-1  1-4 \u4E2D1-4  1-4 b4-5");
}

TEST(BertTextTest, AccentsAreStrippedComposedOrNot) {
  EXPECT_EQ(normalised("\u00E9 e\u0301 \u1EC7 \u00C5"), "e e e a");
  EXPECT_EQ(normalised("\u00E9\u00C9", kCased), "\u00E9\u00C9");
  EXPECT_EQ(normalised("\u00E9\u00C9", kStripOnly), "eE");
  EXPECT_EQ(normalised("\u00E9\u00C9", kLowerOnly), "\u00E9\u00E9");
  // Letters of their own, not letters with accents.
  EXPECT_EQ(normalised("\u00D8 \u0141 \u00DF"), "\u00F8 \u0142 \u00DF");
}

TEST(BertTextTest, WhatStripsAccentsDecomposesEverythingElse) {
  EXPECT_EQ(normalised("\uD55C"), "\u1112\u1161\u11AB");
  EXPECT_EQ(normalised("\u304C"), "\u304B");  // the voicing mark is dropped
  EXPECT_EQ(normalised("\uF900"), " \u8C48 ");
  EXPECT_EQ(normalised("\u212B\u2126"), "a\u03C9");
  EXPECT_EQ(normalised("\uD55C", kCased), "\uD55C");
}

TEST(BertTextTest, LowerCaseTakesCharactersOneByOne) {
  EXPECT_EQ(normalised("ABC \u0391\u03A3 \u0416"), "abc \u03B1\u03C3 \u0436");
  EXPECT_EQ(normalised("\u0130"), "i");
  EXPECT_EQ(normalised("\u0130", kLowerOnly), "i\u0307");
  EXPECT_EQ(sources("\u0130x", kLowerOnly), "i0-2 \u03070-2 x2-3");
}

TEST(BertTextTest, EachCharacterKnowsItsBytes) {
  EXPECT_EQ(sources("aBc"), "a0-1 b1-2 c2-3");
  EXPECT_EQ(sources("a\x01"
                    "b"),
            "a0-1 b2-3");
  EXPECT_EQ(sources("\u00E9x"), "e0-2 x2-3");
  EXPECT_EQ(sources("e\u0301x"), "e0-1 x3-4");
  EXPECT_EQ(sources("\uD55Cx"), "\u11120-3 \u11610-3 \u11AB0-3 x3-4");
  EXPECT_EQ(sources("ab", {}, 7), "a7-8 b8-9");
}

// U+302E (class 224) and U+111C0 (9) are marks that stay, U+0334 (1) is
// dropped.
TEST(BertTextTest, MarksThatStayAreSortedAndTakeThePlacesInTheirOrder) {
  EXPECT_EQ(sources("a\u302E\U000111C0x"), "a0-1 \U000111C01-4 \u302E4-8 x8-9");
  // A dropped mark holds a place, too.
  EXPECT_EQ(sources("a\u302E\u0334x"), "a0-1 \u302E4-6 x6-7");
  // What a character decomposes into stands where the one before it stands.
  EXPECT_EQ(sources("\U0001D15E\u0334x"), "\U0001D1570-4 \U0001D1654-6 x6-7");
}

TEST(BertTextTest, MarksBeforeAnyLetterAreSortedToo) {
  EXPECT_EQ(sources("\u302E\U000111C0"), "\U000111C00-3 \u302E3-7");
  EXPECT_EQ(normalised("\u0301\u0334"), "");
}

// U+16FF0 (class 6), U+1ABF (220, takes no space) and U+11938 are of Unicode
// 13; models were trained on what the tables of versions 8 and 9 say of them.
TEST(BertTextTest, CharactersOfALaterUnicodeAreNeitherMarksNorComposed) {
  EXPECT_EQ(normalised("\u302E\U00016FF0"), "\u302E\U00016FF0");
  EXPECT_EQ(normalised("a\u1ABFb"), "a\u1ABFb");
  EXPECT_EQ(normalised("\U00011938"), "\U00011938");
  // U+08D4: decomposing knows it (class 230), stripping does not.
  EXPECT_EQ(sources("a\u08D4\u0334b"), "a0-1 \u08D44-6 b6-7");
  EXPECT_EQ(normalised("a\U000110CDb"), "a\U000110CDb");  // a format character
  EXPECT_FALSE(is_punctuation(U'\u2E43'));
  EXPECT_TRUE(is_punctuation(U'\u166D'));      // a symbol by now
  EXPECT_TRUE(is_punctuation(U'\U000111C9'));  // a mark by now
  EXPECT_EQ(normalised("\U000111C9"), "\U000111C9");
  EXPECT_EQ(normalised("\u1734"), "");                    // takes space by now
  EXPECT_EQ(normalised("\uA7CB\u1C89"), "\u0264\u1C8A");  // of version 16
}

TEST(BertTextTest, MarksOnBothSidesOfALetterKeepTheirSides) {
  EXPECT_EQ(normalised("\u302Ea\U000111C0"), "\u302Ea\U000111C0");
  EXPECT_EQ(normalised("\u302E\u4E2D\U000111C0"), "\u302E \u4E2D \U000111C0");
}

TEST(BertTextTest, ARunOfAMillionMarksIsSorted) {
  std::string text = "a";
  for (int n = 0; n < 500'000; ++n) {
    text += "\u0301\u0334";
  }
  EXPECT_EQ(normalised(text + "b"), "ab");
}

TEST(BertTextTest, PunctuationIsAsciiSymbolsAndUnicodePunctuation) {
  for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) {
    EXPECT_TRUE(is_punctuation(static_cast<unsigned char>(c))) << c;
  }
  for (const char32_t c : {U'\u2014', U'\u00BF', U'\u3002', U'\uFF01'}) {
    EXPECT_TRUE(is_punctuation(c));
  }
  for (const char32_t c : {U'a', U'0', U' ', U'\u20AC', U'\u00D7', U'\u4E2D'}) {
    EXPECT_FALSE(is_punctuation(c));
  }
}

}  // namespace
}  // namespace headwise::bert
