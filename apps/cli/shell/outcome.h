// How a command ends: nothing, or a failure with its exit code and message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::cli {

enum class Exit {
  ok = 0,
  check_failed = 1,
  usage = 2,
  bad_input = 3,
  out_of_resources = 4,
};

struct Failure {
  Exit exit;
  std::string message;
};
using Outcome = std::optional<Failure>;  // no value: success

inline Failure usage(std::string message) {
  return {Exit::usage, std::move(message)};
}

// An error about a typed option: `--window is 3, expected two whole numbers`.
inline Error option_error(std::string_view option, std::string given,
                          std::string expected = {},
                          ErrorCode code = ErrorCode::invalid_argument) {
  return {code, ErrorDetails{.argument = std::string(option),
                             .given = std::move(given),
                             .expected = std::move(expected)}};
}

// Whether the user typed something wrong: invalid_argument about an option, or
// about how options go together, which no function says. Where a function says
// it, the arguments came out of files.
inline bool is_usage(const Error& error) {
  const ErrorDetails& details = error.details();
  return error.code() == ErrorCode::invalid_argument &&
         (details.operation.empty() || details.argument.starts_with("--"));
}

// The only place where an error gets its exit code.
inline Failure failure_of(const Error& error) {
  const Exit exit = is_usage(error) ? Exit::usage
                    : error.code() == ErrorCode::out_of_memory
                        ? Exit::out_of_resources
                        : Exit::bad_input;
  return {exit, error.message()};
}

// An error about a file that was to be written, without the name of the
// function.
inline Failure failure_to_write(const Error& error) {
  if (error.details().file.empty()) {
    return {Exit::out_of_resources, error.message()};
  }
  ErrorDetails details = error.details();
  details.operation.clear();
  const bool by_system = details.system_error != 0;
  const std::string message = Error(error.code(), std::move(details)).message();
  return {Exit::out_of_resources,
          by_system ? "cannot write " + message : message};
}

}  // namespace headwise::cli
