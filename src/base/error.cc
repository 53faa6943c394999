#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What an error says that has no details.
std::string_view plain_text(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid argument";
    case ErrorCode::shape_mismatch:
      return "shape mismatch";
    case ErrorCode::out_of_range:
      return "out of range";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::bad_data:
      return "bad data";
    case ErrorCode::io_error:
      return "input/output error";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::device_error:
      return "device error";
  }
  return "error";
}

void add_place(std::string& text, std::string_view place) {
  if (!place.empty()) {
    text += place;
    text += ": ";
  }
}

}  // namespace

Error::Error(ErrorCode code, ErrorDetails details)
    : code_(code),
      details_(std::make_shared<const ErrorDetails>(std::move(details))) {}

Error::Error(ErrorCode code, std::string given)
    : Error(code, ErrorDetails{.given = std::move(given)}) {}

const ErrorDetails& Error::details() const {
  static const ErrorDetails none;
  return details_ ? *details_ : none;
}

Error Error::with_code(ErrorCode code) const {
  Error other = *this;
  other.code_ = code;
  return other;
}

std::string Error::message() const {
  if (!details_) {
    return std::string(plain_text(code_));
  }
  const ErrorDetails& is = *details_;
  std::string text;
  add_place(text, is.operation);
  add_place(text, is.file);
  add_place(text, is.entry);
  if (!is.argument.empty()) {
    text += is.argument;
    text += ' ';
  }
  text += is.given;
  if (!is.expected.empty()) {
    text += ", expected ";
    text += is.expected;
  }
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI
