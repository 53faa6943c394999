#include "output.h"

#include <cerrno>

#include "terminal_text.h"

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

std::string one_line(std::string_view message) { return shown(message); }

}  // namespace headwise::cli
