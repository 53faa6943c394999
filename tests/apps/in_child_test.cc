#include "shell/in_child.h"

#include <gtest/gtest.h>

#include <csignal>

namespace headwise::cli {
namespace {

using Bytes = std::vector<std::byte>;

TEST(InChildTest, TheResultComesBackHoweverLong) {
  const Bytes bytes(std::size_t{1} << 20, std::byte{7});
  EXPECT_EQ(in_child([&] { return bytes; }).value(), bytes);
}

TEST(InChildTest, AnErrorComesBack) {
  const auto result = in_child([]() -> Result<Bytes> {
    return Error(ErrorCode::unsupported, {.operation = "svg_to_png",
                                          .given = "has no size",
                                          .expected = "one in pixels"});
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(result.error().details().given, "has no size");
  EXPECT_EQ(result.error().details().expected, "one in pixels");
  const auto memory = in_child(
      []() -> Result<Bytes> { return Error(ErrorCode::out_of_memory); });
  EXPECT_EQ(memory.error().message(),
            Error(ErrorCode::out_of_memory).message());
}

// As GLib ends the process that it runs in.
TEST(InChildTest, AProcessThatIsEndedIsAnError) {
  for (const int signal : {SIGTRAP, SIGABRT, SIGKILL}) {
    const auto result = in_child([&]() -> Result<Bytes> {
      std::raise(signal);
      return Bytes();
    });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_memory);
  }
  EXPECT_FALSE(in_child([]() -> Result<Bytes> { throw std::bad_alloc(); }));
}

}  // namespace
}  // namespace headwise::cli
