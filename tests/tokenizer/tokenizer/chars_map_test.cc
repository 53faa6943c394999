#include "tokenizer/chars_map.h"

#include <gtest/gtest.h>

#include "tokenizer/base64.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

TEST(Base64Test, BytesComeBack) {
  for (const std::string_view bytes : {"", "f", "fo", "foo", "foob"}) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64("\xFF\xFE"), "//4=");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
}

TEST(Base64Test, OtherTextsAreRefused) {
  for (const std::string_view text :
       {"Z", "Zm9", "Zm9vYh==", "Zm9=Zm9v", "====", "Zm\n=", "Zm9-"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
