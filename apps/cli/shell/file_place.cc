#include "file_place.h"

#include <unistd.h>

#include <cerrno>

#include "headwise/interop/paths.h"

namespace headwise::cli {
namespace {

// The name stays as it is; what comes before it becomes canonical.
std::string own_path_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string name = path.substr(folder.size());
  if (name.empty() || name == "." || name == "..") {
    return canonical_path(path);
  }
  const std::string above = canonical_path(folder);
  return (above == "/" ? "" : above) + "/" + name;
}

void look(FilePlace& place) {
  struct stat status {};
  const int failed = place.descriptor ? ::fstat(*place.descriptor, &status)
                                      : ::stat(place.path.c_str(), &status);
  if (failed == 0) {
    place.status = status;
  } else if (place.descriptor || errno != ENOENT) {
    place.error = errno;
  }
}

bool may_write(const std::string& path, int mode) {
  return ::eaccess(path.c_str(), mode) == 0;
}

// Files are written next to their destination first.
int why_no_file_in(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    return errno;
  }
  if (!S_ISDIR(status.st_mode)) {
    return ENOTDIR;
  }
  return may_write(folder, W_OK | X_OK) ? 0 : errno;
}

}  // namespace

FilePlace place_of_descriptor(int descriptor) {
  FilePlace place;
  place.descriptor = descriptor;
  look(place);
  return place;
}

FilePlace place_of(const std::string& path) {
  FilePlace place{path, own_path_of(path)};
  const auto target = follow_links(path);
  if (!target) {
    place.error = ELOOP;
    return place;
  }
  place.path = target->path;
  place.descriptor = target->descriptor;
  look(place);
  if (!place.descriptor) {
    place.path = own_path_of(target->path);
  }
  return place;
}

FilePlace own_place_of(const std::string& path) {
  const std::string own = own_path_of(path);
  struct stat status {};
  const bool is_link =
      ::lstat(own.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  return is_link ? FilePlace{own, own} : place_of(path);
}

bool are_one_file(const FilePlace& a, const FilePlace& b) {
  if (a.descriptor && a.descriptor == b.descriptor) {
    return true;
  }
  if (a.status && b.status) {
    const bool is_stream =
        S_ISCHR(a.status->st_mode) || S_ISSOCK(a.status->st_mode);
    return !is_stream && a.status->st_dev == b.status->st_dev &&
           a.status->st_ino == b.status->st_ino;
  }
  return !a.status && !b.status && !a.path.empty() && a.path == b.path;
}

bool is_standard_output(const FilePlace& place) {
  if (place.descriptor == STDOUT_FILENO) {
    return true;
  }
  const FilePlace out = place_of_descriptor(STDOUT_FILENO);
  if (!place.status || !out.status) {
    return false;
  }
  return are_one_file(place, out) ||
         (::isatty(STDOUT_FILENO) == 1 &&
          place.status->st_rdev == out.status->st_rdev &&
          S_ISCHR(place.status->st_mode));
}

int why_not_writable(const FilePlace& place) {
  if (place.error != 0) {
    return place.error;
  }
  if (place.is_folder()) {
    return EISDIR;
  }
  if (place.descriptor) {
    return 0;
  }
  if (place.status && !may_write(place.path, W_OK)) {
    return errno;
  }
  const bool is_made = !place.status || S_ISREG(place.status->st_mode);
  return is_made ? why_no_file_in(folder_of(place.path)) : 0;
}

int why_no_folder(const std::string& folder) {
  std::string there = canonical_path(folder);
  while (true) {
    const int error = why_no_file_in(there);
    if (error != ENOENT || there == "/") {
      return error;
    }
    const std::string above = folder_of(there);
    there = above.size() > 1 ? above.substr(0, above.size() - 1) : "/";
  }
}

}  // namespace headwise::cli
