// gMock matchers of errors by their parts, for a Status or a Result, so that
// the words may change:
//
//   EXPECT_THAT(attention(q, k, v, out, options),
//               IsError(ErrorCode::out_of_range, "mask.key_lengths[0]"));
//   EXPECT_THAT(read_npy(path), IsFileError(ErrorCode::bad_data, path));
//   EXPECT_THAT(layer.forward(x, x, wide),
//               HasError({.code = ErrorCode::shape_mismatch,
//                         .argument = "value",
//                         .given = {"(2, 3, 5)"},
//                         .expected = {"(2, 3, 4)"}}));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// About this argument; what was given and what was expected contain these
// values: of "x is 7, expected at most 5" they are "7" and "5".
MATCHER_P3(IsAbout, argument, given, expected, "") {
  if (!has_error(arg, *result_listener)) {
    return false;
  }
  const ErrorDetails& details = arg.error().details();
  return details.argument == argument &&
         details.given.text().find(given) != std::string::npos &&
         details.expected.text().find(expected) != std::string::npos;
}

// These are values: "is 7" has 7.
MATCHER_P(HasGiven, part, "") {
  return has_error(arg, *result_listener) &&
         arg.error().details().given.text().find(part) != std::string::npos;
}
MATCHER_P(HasExpected, part, "") {
  return has_error(arg, *result_listener) &&
         arg.error().details().expected.text().find(part) != std::string::npos;
}

// What an error must be: of this code and about this, where an empty part is
// one that the error does not have. An operation and a byte are compared if
// they are given.
// `given` and `expected` are values that these parts must name, so that the
// words around them may change: of "has shape (2, 3), expected 1 axis" they are
// "(2, 3)" and "1".
struct ErrorParts {
  ErrorCode code;
  std::string operation{};
  std::string argument{};
  std::string file{};
  std::string entry{};
  std::optional<std::uint64_t> byte{};
  int system_error = 0;
  std::vector<std::string> given{};
  std::vector<std::string> expected{};
};

// Whether the text has the value as a word of its own: "is 17" has no 7.
inline bool names(std::string_view text, std::string_view value) {
  const auto joins = [](char a, char b) {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    return is_word(a) && is_word(b);
  };
  for (std::size_t at = text.find(value);
       at != std::string_view::npos && !value.empty();
       at = text.find(value, at + 1)) {
    const std::size_t end = at + value.size();
    if ((at == 0 || !joins(text[at - 1], value.front())) &&
        (end == text.size() || !joins(value.back(), text[end]))) {
      return true;
    }
  }
  return false;
}

class ErrorPartsMatcher {
 public:
  explicit ErrorPartsMatcher(ErrorParts parts) : parts_(std::move(parts)) {}

  bool MatchAndExplain(const Error& error,
                       testing::MatchResultListener* listener) const {
    *listener << "which is " << testing::PrintToString(error);
    return matches(error);
  }
  template <class Outcome>
  bool MatchAndExplain(const Outcome& outcome,
                       testing::MatchResultListener* listener) const {
    return has_error(outcome, *listener) && matches(outcome.error());
  }
  void DescribeTo(std::ostream* out) const {
    *out << "is error " << static_cast<int>(parts_.code) << " of \""
         << parts_.operation << "\" about argument \"" << parts_.argument
         << "\", file \"" << parts_.file << "\", entry \"" << parts_.entry
         << "\", given " << testing::PrintToString(parts_.given)
         << ", expected " << testing::PrintToString(parts_.expected);
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "not: ";
    DescribeTo(out);
  }

 private:
  bool matches(const Error& error) const {
    const ErrorDetails& is = error.details();
    return error.code() == parts_.code &&
           (parts_.operation.empty() || is.operation == parts_.operation) &&
           is.argument == parts_.argument && is.file == parts_.file &&
           is.entry == parts_.entry &&
           (!parts_.byte || is.byte == parts_.byte) &&
           is.system_error == parts_.system_error &&
           names_all(is.given.text(), parts_.given) &&
           names_all(is.expected.text(), parts_.expected);
  }
  static bool names_all(const std::string& text,
                        const std::vector<std::string>& values) {
    return std::ranges::all_of(
        values, [&](const std::string& value) { return names(text, value); });
  }

  ErrorParts parts_;
};

// Of an Error, a Status or a Result.
inline auto HasError(ErrorParts parts) {
  return testing::MakePolymorphicMatcher(ErrorPartsMatcher(std::move(parts)));
}

}  // namespace testing_support
}  // namespace headwise
