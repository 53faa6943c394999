#include "interop/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "interop/descriptor.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kPrefix = ".headwise-";
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool lock(int descriptor, int how) {
  int failed = 0;
  do {
    failed = ::flock(descriptor, how);
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

// visit(name) for each entry of a folder, which is then closed.
template <class Visit>
void visit_folder(int descriptor, const Visit& visit) {
  DIR* const folder = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (folder == nullptr) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    return;
  }
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      visit(::dirfd(folder), entry->d_name);
    }
  }
  ::closedir(folder);
}

void remove_entry(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno != EISDIR) {
    return;
  }
  visit_folder(::openat(folder, name, kOpenFolder), remove_entry);
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

bool is_ours(const struct stat& status) {
  return (status.st_uid == ::geteuid() || ::geteuid() == 0) &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

// O_NONBLOCK: a FIFO would wait for a writer.
void remove_if_left_over(int folder, const char* name) {
  if (!is_temporary_name(name)) {
    return;
  }
  const Descriptor file(
      ::openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 ||
      !is_ours(status) || !lock(file.number(), LOCK_EX | LOCK_NB)) {
    return;
  }
  remove_entry(folder, name);
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         std::ranges::all_of(name.substr(kPrefix.size()), [](char character) {
           return character >= '0' && character <= '9';
         });
}

std::string temporary_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) < 0) {
    return "";
  }
  return std::string(kPrefix) + std::to_string(number);
}

bool hold_temporary(int descriptor, const std::string& path) {
  if (!lock(descriptor, LOCK_EX)) {
    return true;  // a file system without locks, where nothing is removed
  }
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 &&
         ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

void remove_leftovers(const std::string& folder) {
  visit_folder(::open(folder.empty() ? "." : folder.c_str(),
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC),
               remove_if_left_over);
}

void remove_folder(const std::string& path) {
  remove_entry(AT_FDCWD, path.c_str());
}

}  // namespace headwise::internal::inline HEADWISE_ABI
