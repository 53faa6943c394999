#include "output.h"

#include <fmt/format.h>

#include <cerrno>

namespace headwise::cli {

Outcome print(std::ostream& out, std::string_view text) {
  errno = 0;
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.flush();
  if (!out && errno == EPIPE) {
    out.clear();  // the next text meets the same, not an error of its own
    return {};
  }
  if (out) {
    return {};
  }
  return Failure{Exit::out_of_resources,
                 system_error({.operation = "cannot write to standard output"},
                              errno != 0 ? errno : EIO)};
}

std::string one_line(std::string_view message) {
  std::string line;
  for (std::size_t n = 0; n < message.size(); ++n) {
    const auto byte = static_cast<unsigned char>(message[n]);
    const auto next =
        static_cast<unsigned char>(n + 1 < message.size() ? message[n + 1] : 0);
    // U+0080 to U+009F: terminals obey them too.
    const bool control2 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (byte < 0x20 || byte == 0x7F || control2) {
      line += fmt::format("\\x{:02x}", control2 ? next : byte);
      n += control2 ? 1 : 0;
    } else {
      line += message[n];
    }
  }
  return line;
}

}  // namespace headwise::cli
