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

// What the library said about arguments and files that were read.
inline Failure failure_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
      return {Exit::usage, error.message()};
    case ErrorCode::out_of_memory:
      return {Exit::out_of_resources, error.message()};
    default:
      return {Exit::bad_input, error.message()};
  }
}

// What the library said about arguments that came out of files: bad input,
// where it would blame the caller.
inline Error as_data(const Error& error) {
  return error.code() == ErrorCode::invalid_argument
             ? error.with_code(ErrorCode::bad_data)
             : error;
}

// What the library said about a file that was to be written, without the name
// of the function that says it.
inline Failure failure_to_write(const Error& error) {
  std::string message = error.message();
  for (const std::string_view name :
       {"write_file_atomically: ", "write_model: "}) {
    if (message.starts_with(name)) {
      message = "cannot write " + message.substr(name.size());
    }
  }
  return {Exit::out_of_resources, std::move(message)};
}

}  // namespace headwise::cli
