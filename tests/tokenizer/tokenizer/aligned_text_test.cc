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

TEST(TextEditTest, AnInsertedCharacterComesFromTheOneBefore) {
  AlignedText source;
  source.view("ab", 4);
  AlignedText result;
  TextEdit edit(source, result);
  edit.drop(0, 0);
  edit.put_changed(U'>', 1);
  edit.put_changed(U'\u00E9', 0);
  edit.put_changed(U'+', 1);
  EXPECT_TRUE(edit.finish());
  EXPECT_EQ(result.text(), ">\u00E9+b");
  EXPECT_EQ(result.from(0, 1), (Span{4, 4}));
  EXPECT_EQ(result.from(1, 2), (Span{4, 5}));
  EXPECT_EQ(result.from(3, 4), (Span{4, 5}));
  EXPECT_EQ(result.from(4, 5), (Span{5, 6}));
}

TEST(TextEditTest, CharactersAreDropped) {
  AlignedText source;
  source.view("abcdefg", 0);
  AlignedText result;
  TextEdit edit(source, result);
  EXPECT_FALSE(edit.finish());
  edit.drop(0, 1);
  edit.put_changed(U'x', -2);
  edit.put_changed(U'y', 0);
  edit.drop(6, 7);
  EXPECT_TRUE(edit.finish());
  EXPECT_EQ(result.text(), "xyf");
  EXPECT_EQ(result.from(0, 1), (Span{1, 2}));
  EXPECT_EQ(result.from(1, 2), (Span{4, 5}));
  edit.drop_end("f");
  edit.drop_end("yx");
  EXPECT_EQ(result.text(), "xy");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
