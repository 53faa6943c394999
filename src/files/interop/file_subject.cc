#include "headwise/interop/file_subject.h"

#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

bool blames_arguments(ErrorCode code) {
  return code == ErrorCode::invalid_argument ||
         code == ErrorCode::shape_mismatch || code == ErrorCode::out_of_range;
}

}  // namespace

FileSubject FileSubject::of_entry(const std::string& name) const {
  FileSubject inner = *this;
  if (!inner.entry.empty()) {
    inner.entry += ": ";
  }
  inner.entry += name;
  return inner;
}

Error FileSubject::error(ErrorCode code, Message given, Message expected,
                         std::optional<std::uint64_t> byte) const {
  return {code, ErrorDetails{.operation = operation,
                             .file = file,
                             .entry = entry,
                             .byte = byte,
                             .given = std::move(given),
                             .expected = std::move(expected)}};
}

Error FileSubject::bad_data(Message given, Message expected,
                            std::optional<std::uint64_t> byte) const {
  return error(ErrorCode::bad_data, std::move(given), std::move(expected),
               byte);
}

Error FileSubject::blame(const Error& error) const {
  const std::string& argument = error.details().argument;
  return argument.empty() ? blame_here(error)
                          : of_entry(argument).blame_here(error);
}

Error FileSubject::blame_here(const Error& error) const {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  ErrorDetails details = error.details();
  details.operation = operation;
  details.file = file;
  details.entry = entry;
  details.argument.clear();
  details.byte.reset();
  details.system_error = 0;
  return {blames_arguments(error.code()) ? ErrorCode::bad_data : error.code(),
          std::move(details)};
}

}  // namespace headwise::inline HEADWISE_ABI
