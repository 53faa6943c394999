#include "operation/read_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

TEST(ReadTokensTest, NamesAFileThatCannotBeRead) {
  for (const auto& [path, reason] :
       {std::pair("/nonexistent/tokens", ENOENT), {"/", EISDIR}}) {
    EXPECT_THAT(read_tokens("--tokens", path),
                HasError({.code = ErrorCode::io_error,
                          .operation = "--tokens",
                          .file = path,
                          .system_error = reason}));
  }
}

}  // namespace
}  // namespace headwise::cli
