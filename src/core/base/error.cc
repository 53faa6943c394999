#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What an error says that has no details.
const char* plain_text(ErrorCode code) {
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
    case ErrorCode::rank_failure:
      return "rank failure";
  }
  return "error";
}

void add_part(std::string& text, std::string_view part) {
  if (part.empty()) {
    return;
  }
  if (!text.empty()) {
    text += ": ";
  }
  text += part;
}

Message memory_message(std::uint64_t bytes) {
  if (bytes == std::numeric_limits<std::uint64_t>::max()) {
    return "out of memory: more bytes are needed than can be counted";
  }
  constexpr int kMebi = 20;
  return bytes >> kMebi == 0
             ? message("out of memory: {} bytes are needed", bytes)
             : message("out of memory: {} MiB are needed",
                       ((bytes - 1) >> kMebi) + 1);
}

}  // namespace

Error::Error(ErrorCode code, ErrorDetails details)
    : code_(code),
      details_(std::make_shared<const ErrorDetails>(std::move(details))) {}

Error Error::no_memory_for(std::uint64_t bytes) noexcept {
  Error error = ErrorCode::out_of_memory;
  error.bytes_needed_ = bytes;
  return error;
}

const ErrorDetails& Error::details() const {
  static const ErrorDetails none;
  return details_ ? *details_ : none;
}

Error Error::with_code(ErrorCode code) const {
  Error other = *this;
  other.code_ = code;
  return other;
}

Message Error::what() const {
  const Message& given = details().given;
  return !given.empty() ? given
         : code_ != ErrorCode::out_of_memory || bytes_needed_ == 0
             ? plain_text(code_)
             : memory_message(bytes_needed_);
}

std::string Error::message() const {
  const ErrorDetails& is = details();
  std::string text;
  add_part(text, is.operation);
  add_part(text, is.file);
  add_part(text, is.entry);
  add_part(text, is.argument);
  // A predicate for the part before it, or a clause.
  const bool has_subject =
      !is.argument.empty() || !is.file.empty() || !is.entry.empty();
  if (has_subject && is.system_error == 0 && !is.given.empty()) {
    text += ' ';
    text += what().text();
  } else {
    add_part(text, what().text());
  }
  if (is.byte) {
    text += " at byte ";
    text += std::to_string(*is.byte);
  }
  if (!is.expected.empty()) {
    text += ", expected ";
    text += is.expected.text();
  }
  if (!is.hint.empty()) {
    text += "; ";
    text += is.hint.text();
  }
  return text;
}

}  // namespace headwise::inline HEADWISE_ABI
