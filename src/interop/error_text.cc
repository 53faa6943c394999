#include "interop/error_text.h"

#include <system_error>

namespace headwise::inline HEADWISE_ABI {

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

Error io_error(std::string_view subject, int error_number) {
  const bool no_memory = error_number == ENOMEM;
  return {no_memory ? ErrorCode::out_of_memory : ErrorCode::io_error,
          std::string(subject) + ": " +
              std::generic_category().message(error_number)};
}

Status check_path(std::string_view operation, const std::string& path) {
  if (path.find('\0') == std::string::npos) {
    return ok();
  }
  return Error{ErrorCode::invalid_argument,
               std::string(operation) + ": " + printable(path) +
                   ": a path cannot hold a NUL character"};
}

}  // namespace headwise::inline HEADWISE_ABI
