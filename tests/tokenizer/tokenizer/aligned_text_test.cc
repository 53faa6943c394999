#include "tokenizer/aligned_text.h"

#include <gtest/gtest.h>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

TEST(AlignedTextTest, AnUnchangedByteComesFromItsWholeCharacter) {
  AlignedText text;
  text.view("a\u00E9b", 10);
  EXPECT_EQ(text.from(0, 1), (Span{10, 11}));
  EXPECT_EQ(text.from(1, 2), (Span{11, 13}));
  EXPECT_EQ(text.from(2, 4), (Span{11, 14}));
}

TEST(AlignedTextTest, AnInsertedCharacterComesFromTheOneBefore) {
  AlignedText source;
  source.view("ab", 4);
  AlignedText result;
  result.start(source);
  Transform transform(source, 0, 2, result);
  transform.put(U'>', 1);
  transform.put(U'\u00E9', 0);
  transform.put(U'+', 1);
  transform.put(U'c', 0);
  EXPECT_EQ(result.text(), ">\u00E9+c");
  EXPECT_EQ(result.from(0, 1), (Span{4, 4}));
  EXPECT_EQ(result.from(1, 2), (Span{4, 5}));
  EXPECT_EQ(result.from(3, 4), (Span{4, 5}));
  EXPECT_EQ(result.from(4, 5), (Span{5, 6}));
}

TEST(AlignedTextTest, CharactersAreDropped) {
  AlignedText source;
  source.view("abcde", 0);
  AlignedText result;
  result.start(source);
  Transform transform(source, 0, 5, result);
  transform.drop(1);
  transform.put(U'x', -2);
  transform.put(U'y', 0);
  EXPECT_EQ(result.text(), "xy");
  EXPECT_EQ(result.from(0, 1), (Span{1, 2}));
  EXPECT_EQ(result.from(1, 2), (Span{4, 5}));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
