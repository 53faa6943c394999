#include "output.h"

#include <cerrno>
#include <cstring>

namespace headwise::cli {

Outcome print(std::ostream& out, std::string_view text) {
  errno = 0;
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.flush();
  if (out || errno == EPIPE) {
    return {};
  }
  return Failure{Exit::out_of_resources,
                 std::string("cannot write to standard output: ") +
                     std::strerror(errno != 0 ? errno : EIO)};
}

}  // namespace headwise::cli
