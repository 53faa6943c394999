#include "headwise/models/special_tokens.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

TEST(SpecialTokensTest, AreThoseThatTokenizersAdd) {
  for (const char* const token : {"[CLS]", "[PAD]", "<s>", "<pad>"}) {
    EXPECT_TRUE(is_special(token));
    EXPECT_FALSE(is_separator(token));
  }
  for (const char* const token : {"[SEP]", "</s>"}) {
    EXPECT_TRUE(is_special(token));
    EXPECT_TRUE(is_separator(token));
  }
  for (const char* const token : {"", "cat", "[cls]", "[UNK]", "sep"}) {
    EXPECT_FALSE(is_special(token));
    EXPECT_FALSE(is_separator(token));
  }
}

}  // namespace
}  // namespace headwise
