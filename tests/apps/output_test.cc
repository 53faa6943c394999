#include "shell/output.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <streambuf>

#include "shell/json.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

TEST(OneLineTest, ControlCharactersAreShownAndNotObeyed) {
  EXPECT_EQ(one_line("plain"), "plain");
  EXPECT_EQ(one_line("a\x1b[31m\nb\r\t\x7f"),
            "a\\x1b[31m\\x0ab\\x0d\\x09\\x7f");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(one_line("\xC2\x9B"
                     "2J"),
            "\\x9b2J");
  EXPECT_EQ(one_line("a\u202eb"), "a\\u{202e}b");
}

TEST(JsonTextTest, NothingInItMovesACursorOrTurnsALineAround) {
  EXPECT_EQ(json_text({{"text", "a\u202e\u009b\x7f\x1b 한"}}),
            "{\"text\":\"a\\u202e\\u009b\\u007f\\u001b 한\"}\n");
  EXPECT_EQ(json_text({{"a", {1, 2}}}, 1), "{\n \"a\": [\n  1,\n  2\n ]\n}\n");
}

TEST(OneLineTest, OtherTextStays) {
  for (const char* text : {"한국어", "é\xC2\xA0z", "\xFF\xC2", ""}) {
    EXPECT_EQ(one_line(text), text);
  }
}

TEST(PrintTest, WritesOrSaysWhyNot) {
  std::ostringstream out;
  EXPECT_TRUE(print(out, "text"));
  EXPECT_EQ(out.str(), "text");
  std::ostream none(nullptr);
  const Outcome printed = print(none, "text");
  ASSERT_FALSE(printed);
  EXPECT_EQ(printed.error().exit, Exit::out_of_resources);
}

// A stream whose reader has left.
class Left : public std::streambuf {
 public:
  int writes() const { return writes_; }

 private:
  std::streamsize xsputn(const char* /*text*/, std::streamsize /*n*/) override {
    ++writes_;
    errno = EPIPE;
    return 0;
  }

  int writes_ = 0;
};

TEST(PrintTest, AReaderThatLeftIsNoErrorHoweverOftenItIsPrintedTo) {
  Left left;
  std::ostream out(&left);
  EXPECT_TRUE(print(out, "text"));
  EXPECT_TRUE(print(out, "more"));
  EXPECT_EQ(left.writes(), 2);
}

TEST(OutcomeTest, AFileThatCannotBeWrittenIsNamedWithoutAFunction) {
  const auto said = [](const char* function, const char* path, int number) {
    return failure_to_write({ErrorCode::io_error,
                             {.operation = function,
                              .file = path,
                              .system_error = number,
                              .given = std::strerror(number)}})
        .error.message();
  };
  EXPECT_EQ(said("write_file_atomically", "o.npy", ENOSPC),
            "cannot write o.npy: No space left on device");
  EXPECT_EQ(said("write_model", "out", EACCES),
            "cannot write out: Permission denied");
}

TEST(OutcomeTest, EachKindOfErrorHasItsExitCode) {
  const auto exit_of = [](ErrorCode code) {
    return failure_of(Error(code)).exit;
  };
  EXPECT_EQ(exit_of(ErrorCode::invalid_argument), Exit::usage);
  EXPECT_EQ(exit_of(ErrorCode::shape_mismatch), Exit::bad_input);
  EXPECT_EQ(exit_of(ErrorCode::out_of_range), Exit::bad_input);
  EXPECT_EQ(exit_of(ErrorCode::bad_data), Exit::bad_input);
  EXPECT_EQ(exit_of(ErrorCode::io_error), Exit::bad_input);
  EXPECT_EQ(exit_of(ErrorCode::unsupported), Exit::bad_input);
  EXPECT_EQ(exit_of(ErrorCode::out_of_memory), Exit::out_of_resources);
  EXPECT_EQ(failure_to_write(Error(ErrorCode::io_error)).exit,
            Exit::out_of_resources);
}

// What a function says of its arguments is about what came out of files.
TEST(OutcomeTest, OnlyWhatWasTypedIsUsage) {
  const auto exit_of = [](const char* operation, const char* argument) {
    return failure_of(
               Error(ErrorCode::invalid_argument, {.operation = operation,
                                                   .argument = argument,
                                                   .given = "is 7"}))
        .exit;
  };
  EXPECT_EQ(exit_of("", "--keep"), Exit::usage);
  EXPECT_EQ(exit_of("prune", "--keep"), Exit::usage);
  EXPECT_EQ(exit_of("", ""), Exit::usage);
  EXPECT_EQ(exit_of("attention", "scale"), Exit::bad_input);
}

}  // namespace
}  // namespace headwise::cli
