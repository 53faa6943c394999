#include <gtest/gtest.h>

#include "headwise/tokenizer/tokenizer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

TEST(CharacterOffsetsTest, CountsCharactersInAnyOrder) {
  // Characters of 1, 2, 3, 4 and 1 bytes.
  const std::string text = "a\u00E9\u65E5\U0001F600b";
  const std::vector<ByteSpan> bytes = {{0, 0},   {0, 1}, {1, 3},  {3, 10},
                                       {10, 11}, {3, 6}, {1, 11}, {0, 0},
                                       {11, 11}, {6, 99}};
  EXPECT_EQ(character_offsets(text, bytes), (std::vector<ByteSpan>{{0, 0},
                                                                   {0, 1},
                                                                   {1, 2},
                                                                   {2, 4},
                                                                   {4, 5},
                                                                   {2, 3},
                                                                   {1, 5},
                                                                   {0, 0},
                                                                   {5, 5},
                                                                   {3, 5}}));
}

TEST(CharacterOffsetsTest, AsciiStaysAsItIs) {
  EXPECT_EQ(character_offsets("abc", std::vector<ByteSpan>{{1, 2}, {0, 3}}),
            (std::vector<ByteSpan>{{1, 2}, {0, 3}}));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI
