// gMock matchers of errors by their parts, for a Status or a Result, so that
// the words may change:
//
//   EXPECT_THAT(attention(q, k, v, out, options),
//               IsError(ErrorCode::out_of_range, "mask.key_lengths[0]"));
//   EXPECT_THAT(read_npy(path), IsFileError(ErrorCode::bad_data, path));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise {

// How tests show an error.
inline void PrintTo(const Error& error, std::ostream* out) {
  *out << "Error " << static_cast<int>(error.code()) << ": " << error.message();
}

namespace testing_support {

// Explains what an error is instead.
template <class Outcome>
bool has_error(const Outcome& outcome, testing::MatchResultListener& listener) {
  if (outcome) {
    listener << "which is a success";
    return false;
  }
  // Its stream is null where nobody listens.
  listener << "which is error " << static_cast<int>(outcome.error().code())
           << ": " << outcome.error().message();
  return true;
}

// Of this code, about this argument.
MATCHER_P2(IsError, code, argument, "") {
  if (!has_error(arg, *result_listener)) {
    return false;
  }
  return arg.error().code() == code &&
         arg.error().details().argument == argument;
}

// Of this code, about this file.
MATCHER_P2(IsFileError, code, file, "") {
  if (!has_error(arg, *result_listener)) {
    return false;
  }
  return arg.error().code() == code && arg.error().details().file == file;
}

// Of this code, about this entry of a file.
MATCHER_P2(IsEntryError, code, entry, "") {
  if (!has_error(arg, *result_listener)) {
    return false;
  }
  return arg.error().code() == code && arg.error().details().entry == entry;
}

// The text of an error about this file, without the function and the file:
// "w_q has no dtype".
inline std::string said_of_file(const Error& error, std::string_view operation,
                                std::string_view file) {
  ErrorDetails details = error.details();
  EXPECT_EQ(details.operation, operation) << error.message();
  EXPECT_EQ(details.file, file) << error.message();
  details.operation.clear();
  details.file.clear();
  return Error(error.code(), std::move(details)).message();
}

// About this argument; what was given and what was expected contain these
// values: of "x is 7, expected at most 5" they are "7" and "5".
MATCHER_P3(IsAbout, argument, given, expected, "") {
  if (!has_error(arg, *result_listener)) {
    return false;
  }
  const ErrorDetails& details = arg.error().details();
  return details.argument == argument &&
         details.given.find(given) != std::string::npos &&
         details.expected.find(expected) != std::string::npos;
}

// These are values: "is 7" has 7.
MATCHER_P(HasGiven, part, "") {
  return has_error(arg, *result_listener) &&
         arg.error().details().given.find(part) != std::string::npos;
}
MATCHER_P(HasExpected, part, "") {
  return has_error(arg, *result_listener) &&
         arg.error().details().expected.find(part) != std::string::npos;
}

}  // namespace testing_support
}  // namespace headwise
