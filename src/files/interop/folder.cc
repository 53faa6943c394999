#include "interop/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "interop/descriptor.h"
#include "interop/error_text.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// What `ask` (stat() or lstat()) says of the path. A NUL would cut it short.
template <class Ask>
Result<struct stat> status_of(std::string_view operation,
                              const std::string& path, const Ask& ask) {
  HEADWISE_TRY(check_path(operation, path));
  struct stat status {};
  if (ask(path.c_str(), &status) != 0) {
    return io_error({std::string(operation), path}, errno);
  }
  return status;
}

bool is_absent(const Error& error) {
  return means_absent(error.details().system_error);
}

Result<EntryKind> kind_of(const Result<struct stat>& status) {
  if (!status) {
    return is_absent(status.error()) ? Result<EntryKind>(EntryKind::nothing)
                                     : status.error();
  }
  return S_ISREG(status->st_mode)   ? EntryKind::file
         : S_ISDIR(status->st_mode) ? EntryKind::folder
                                    : EntryKind::other;
}

Status check_is_folder(std::string_view operation, const std::string& path,
                       const Result<struct stat>& status) {
  HEADWISE_TRY(status);
  return S_ISDIR(status->st_mode)
             ? ok()
             : io_error({std::string(operation), path}, ENOTDIR);
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
  return check_is_folder(operation, path, status_of(operation, path, ::stat));
}

Status check_folder_named_by_file(std::string_view operation,
                                  const std::string& path) {
  const auto status = status_of(operation, path, ::lstat);
  if (status && S_ISLNK(status->st_mode)) {
    return FileSubject{std::string(operation), path}.bad_data(
        "is a symbolic link", "a folder");
  }
  return check_is_folder(operation, path, status);
}

bool means_absent(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR;
}

Result<EntryKind> kind_of_entry(std::string_view operation,
                                const std::string& path) {
  return kind_of(status_of(operation, path, ::lstat));
}

Result<EntryKind> kind_behind_links(std::string_view operation,
                                    const std::string& path) {
  return kind_of(status_of(operation, path, ::stat));
}

Result<std::set<std::string>> names_in_folder(std::string_view operation,
                                              const std::string& path) {
  std::unique_ptr<DIR, CloseFolder> folder;
  do {
    folder.reset(::opendir(path.c_str()));
  } while (!folder && errno == EINTR);
  if (!folder) {
    return io_error({std::string(operation), path}, errno);
  }
  std::set<std::string> names;
  while (true) {
    errno = 0;  // readdir() says "no more" and "failed" alike
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) {
      return io_error({std::string(operation), path}, errno);
    }
    if (entry == nullptr) {
      return names;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace(name);
    }
  }
}

Result<bool> is_regular_file(std::string_view operation,
                             const std::string& path) {
  const auto kind = kind_behind_links(operation, path);
  return kind ? Result<bool>(*kind == EntryKind::file) : kind.error();
}

Status check_regular_file(std::string_view operation, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) ||
      S_ISDIR(status.st_mode)) {
    return ok();  // opening it says what is wrong
  }
  return FileSubject{std::string(operation), path}.bad_data(
      "is not a regular file");
}

Status make_folder(std::string_view operation, const std::string& path) {
  constexpr mode_t kAsTheUmaskSays = 0777;
  HEADWISE_TRY(check_path(operation, path));
  // Errors name the folder without the slashes that end it.
  const std::string folder = path.substr(0, path.find_last_not_of('/') + 1);
  for (std::size_t end = 0; end < folder.size();) {
    end = std::min(folder.find('/', end + 1), folder.size());
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), kAsTheUmaskSays) != 0 && errno != EEXIST) {
      return io_error({std::string(operation), part}, errno);
    }
  }
  return check_folder(operation, folder.empty() ? path : folder);
}

bool is_mount_point(const std::string& path) {
  constexpr std::uint64_t kMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT
  struct statx status {};
  return ::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) == 0 &&
         (status.stx_attributes & kMountRoot) != 0;
}

int sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor opened(::open(folder.empty() ? "." : folder.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0 || ::fsync(opened.number()) == 0) {
    return 0;
  }
  return errno == EIO || errno == ENOSPC || errno == EDQUOT ? errno : 0;
}

Result<bool> are_one_folder(std::string_view operation, const std::string& a,
                            const std::string& b) {
  const auto of_a = status_of(operation, a, ::stat);
  const auto of_b = status_of(operation, b, ::stat);
  for (const auto* const status : {&of_a, &of_b}) {
    if (!*status) {
      return is_absent(status->error()) ? Result<bool>(false) : status->error();
    }
  }
  return of_a->st_dev == of_b->st_dev && of_a->st_ino == of_b->st_ino;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
