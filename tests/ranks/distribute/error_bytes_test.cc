#include "distribute/error_bytes.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headwise {
namespace {

TEST(ErrorBytesTest, EveryPartArrives) {
  const Error sent(ErrorCode::io_error, {.operation = "read_npy",
                                         .argument = "mask.key_lengths[0]",
                                         .file = "q.npy",
                                         .entry = "x",
                                         .byte = 7,
                                         .system_error = 2,
                                         .given = "is 7",
                                         .expected = "8",
                                         .hint = "at keys 0 to 383"});
  const Status arrived = status_of(bytes_of_status(sent));
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().message(), sent.message());
  EXPECT_EQ(arrived.error().code(), sent.code());
  EXPECT_EQ(arrived.error().details().byte, 7u);
  EXPECT_EQ(arrived.error().details().system_error, 2);
}

TEST(ErrorBytesTest, SuccessAndAnErrorWithoutDetailsArrive) {
  EXPECT_TRUE(status_of(bytes_of_status(ok())));
  const Status arrived =
      status_of(bytes_of_status(Error(ErrorCode::unsupported)));
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(arrived.error().message(),
            Error(ErrorCode::unsupported).message() + "");
}

TEST(ErrorBytesTest, BytesThatAreCutShortAreAnError) {
  const std::string bytes = bytes_of_status(
      Error(ErrorCode::io_error, {.operation = "read", .hint = "a hint"}));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(status_of(bytes.substr(0, size)),
                testing_support::IsError(ErrorCode::bad_data, ""))
        << size;
  }
}

}  // namespace
}  // namespace headwise
