#include "outcome.h"

#include <system_error>
#include <utility>

namespace headwise::cli {
namespace {

// Whether the user typed something wrong: invalid_argument about an option, or
// about how options go together, which no function says. Where a function says
// it, the arguments came out of files.
bool is_usage(const Error& error) {
  const ErrorDetails& details = error.details();
  return error.code() == ErrorCode::invalid_argument &&
         (details.operation.empty() || details.argument.starts_with("--"));
}

}  // namespace

Error option_error(std::string_view option, Message given, Message expected,
                   ErrorCode code) {
  return {code,
          {.argument = std::string(option),
           .given = std::move(given),
           .expected = std::move(expected)}};
}

Error usage_error(Message clause) {
  return {ErrorCode::invalid_argument, {.given = std::move(clause)}};
}

Error system_error(ErrorDetails about, int number) {
  about.system_error = number;
  about.given = std::generic_category().message(number);
  return {ErrorCode::io_error, std::move(about)};
}

Failure failure_of(const Error& error) {
  const Exit exit = is_usage(error) ? Exit::usage
                    : error.code() == ErrorCode::out_of_memory
                        ? Exit::out_of_resources
                        : Exit::bad_input;
  return {exit, error};
}

Failure usage(Message clause) {
  return failure_of(usage_error(std::move(clause)));
}

Failure usage(std::string_view option, Message given, Message expected) {
  return failure_of(
      option_error(option, std::move(given), std::move(expected)));
}

Failure failure_to_write(const Error& error) {
  ErrorDetails details = error.details();
  if (details.file.empty()) {
    return {Exit::out_of_resources, error};
  }
  details.operation = "";
  if (details.system_error != 0) {
    details.operation = "cannot write " + std::exchange(details.file, "");
  }
  return {Exit::out_of_resources, {error.code(), std::move(details)}};
}

Outcome written(const Status& s) {
  return s ? Outcome() : failure_to_write(s.error());
}

}  // namespace headwise::cli
