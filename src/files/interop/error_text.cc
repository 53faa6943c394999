#include "interop/error_text.h"

#include <system_error>

namespace headwise::internal::inline HEADWISE_ABI {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  for (const char character : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += character;
    } else {
      shown += "\\x";
      shown += kDigits[byte >> 4];
      shown += kDigits[byte & 15];
    }
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

Error io_error(const FileSubject& subject, int error_number) {
  if (error_number == ENOMEM) {
    return ErrorCode::out_of_memory;
  }
  return {ErrorCode::io_error,
          ErrorDetails{.operation = subject.operation,
                       .file = subject.file,
                       .entry = subject.entry,
                       .system_error = error_number,
                       .given = std::generic_category().message(error_number)}};
}

Status check_path(std::string_view operation, const std::string& path) {
  if (path.find('\0') == std::string::npos) {
    return ok();
  }
  return FileSubject{std::string(operation), printable(path)}.error(
      ErrorCode::invalid_argument, "has a NUL character", "a path without one");
}

}  // namespace headwise::internal::inline HEADWISE_ABI
