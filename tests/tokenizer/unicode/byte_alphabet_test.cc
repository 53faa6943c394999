#include "unicode/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

TEST(ByteAlphabetTest, EachByteHasACharacterOfItsOwn) {
  std::set<char32_t> characters;
  for (int n = 0; n < 256; ++n) {
    const auto byte = static_cast<unsigned char>(n);
    characters.insert(byte_character(byte));
    EXPECT_EQ(byte_of(byte_character(byte)), byte);
  }
  EXPECT_EQ(characters.size(), 256u);
}

TEST(ByteAlphabetTest, PrintableBytesStandForThemselves) {
  EXPECT_EQ(byte_character('a'), U'a');
  EXPECT_EQ(byte_character(0xE9), U'\u00E9');
  EXPECT_EQ(byte_character(0), U'\u0100');
  EXPECT_EQ(byte_character(' '), U'\u0120');
  EXPECT_EQ(byte_character(0x7F), U'\u0121');
  EXPECT_EQ(byte_character(0xAD), U'\u0143');
}

TEST(ByteAlphabetTest, OtherCharactersHaveNoByte) {
  for (const char32_t code : {U' ', U'\u00AD', U'\u0144', U'\u65E5'}) {
    EXPECT_FALSE(byte_of(code));
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
