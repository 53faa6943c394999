// How a command ends: nothing, or a failure with its exit code and its error.
// error_text.h makes a line of text of an error.
#pragma once

#include <cassert>
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
  Error error;
};
// An error about a typed option: `--softcap is 0, expected a number above 0`.
Error option_error(std::string_view option, Message given,
                   Message expected = {},
                   ErrorCode code = ErrorCode::invalid_argument);
// An error about how options go together, which a clause says by itself:
// `--head needs --svg, --png or --json`.
Error usage_error(Message clause);
// What the system says of a file or of an option's value: `about` without its
// `given`, and an errno.
Error system_error(ErrorDetails about, int number);

// The only place where an error gets its exit code.
Failure failure_of(const Error& error);
// Those of usage_error() and of option_error().
Failure usage(Message clause);
Failure usage(std::string_view option, Message given, Message expected);
// An error about a file that was to be written, without the name of the
// function.
Failure failure_to_write(const Error& error);

// Contextually true on success, as a Status is: HEADWISE_TRY passes on an
// Outcome, a Status or a Result.
class [[nodiscard]] Outcome {
 public:
  Outcome() = default;  // success
  // NOLINTNEXTLINE(google-explicit-constructor): `return usage(..)`
  Outcome(Failure failure) : failure_(std::move(failure)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return result.error()`
  Outcome(const Error& error) : failure_(failure_of(error)) {}

  explicit operator bool() const { return !failure_; }
  // Only after a failure.
  const Failure& error() const {
    assert(failure_);
    return *failure_;
  }

 private:
  std::optional<Failure> failure_;
};

// Of writing a file.
Outcome written(const Status& s);

}  // namespace headwise::cli
