#include "interop/folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "interop/error_text.h"

namespace headwise {
namespace {

// What `ask` (stat() or lstat()) says of the path. A NUL would cut it short.
template <class Ask>
Result<mode_t> mode_of(std::string_view operation, const std::string& path,
                       const Ask& ask) {
  if (Status s = check_path(operation, path); !s) {
    return s.error();
  }
  struct stat status {};
  if (ask(path.c_str(), &status) != 0) {
    return io_error(std::string(operation) + ": " + path, errno);
  }
  return status.st_mode;
}

Status check_mode(std::string_view operation, const std::string& path,
                  const Result<mode_t>& mode) {
  if (!mode) {
    return mode.error();
  }
  return S_ISDIR(*mode)
             ? ok()
             : io_error(std::string(operation) + ": " + path, ENOTDIR);
}

}  // namespace

bool is_plain_name(std::string_view name) {
  const bool of_one_part = std::ranges::none_of(name, [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x20 || byte == 0x7f || byte == '/' || byte == '\\';
  });
  return of_one_part && !name.empty() && name != "." && name != "..";
}

Status check_folder(std::string_view operation, const std::string& path) {
  return check_mode(operation, path, mode_of(operation, path, ::stat));
}

Status check_folder_named_by_file(std::string_view operation,
                                  const std::string& path) {
  const Result<mode_t> mode = mode_of(operation, path, ::lstat);
  if (mode && S_ISLNK(*mode)) {
    return Error{ErrorCode::bad_data,
                 std::string(operation) + ": " + path +
                     ": it is a symbolic link, expected a folder"};
  }
  return check_mode(operation, path, mode);
}

}  // namespace headwise
