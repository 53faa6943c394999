#include "inspect/pictures/base64.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace headwise {
namespace {

std::string of(std::string_view text) {
  return base64(std::as_bytes(std::span(text)));
}

// RFC 4648, chapter 10.
TEST(Base64Test, TheVectorsOfTheStandard) {
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foob"), "Zm9vYg==");
  EXPECT_EQ(of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

TEST(Base64Test, EveryCharacterOfTheAlphabetOnce) {
  // The 64 numbers of 6 bits in order, packed into 48 bytes.
  std::vector<std::byte> bytes;
  for (unsigned n = 0; n < 64; n += 4) {
    const unsigned packed = n << 18 | (n + 1) << 12 | (n + 2) << 6 | (n + 3);
    for (const int shift : {16, 8, 0}) {
      bytes.push_back(static_cast<std::byte>(packed >> shift & 0xFF));
    }
  }
  EXPECT_EQ(base64(bytes),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
}

TEST(Base64Test, LargeInputsHaveNoLineEnds) {
  const std::vector<std::byte> zeros(100000);
  const std::string text = base64(zeros);
  EXPECT_EQ(text.size(), 133336u);
  EXPECT_EQ(text.find_first_not_of('A'), 133334u);  // only the padding "=="
}

}  // namespace
}  // namespace headwise
