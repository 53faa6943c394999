#include "operation/read_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwise::cli {
namespace {

using testing::HasSubstr;

TEST(ReadTokensTest, NamesAFileThatCannotBeRead) {
  const auto missing = read_tokens("/nonexistent/tokens");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::io_error);
  EXPECT_EQ(missing.error().message(),
            "tokens: /nonexistent/tokens: No such file or directory");
  const auto folder = read_tokens("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message(), "tokens: /: Is a directory");
}

}  // namespace
}  // namespace headwise::cli
