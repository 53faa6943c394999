#include "headwise/interop/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>

#include "base/out_of_memory.h"
#include "interop/descriptor.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/temporary.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kAtomicFile = "write_file_atomically";

// Holds back, in this thread, the signals that a write may raise: write()
// then says EFBIG or EPIPE. One that came meanwhile is taken away; one that
// was waiting before stays.
class HeldBackSignals {
 public:
  HeldBackSignals() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    sigemptyset(&ours_);
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
      if (sigismember(&pending, signal) == 0) {
        sigaddset(&ours_, signal);
      }
    }
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  HeldBackSignals(const HeldBackSignals&) = delete;
  HeldBackSignals& operator=(const HeldBackSignals&) = delete;
  ~HeldBackSignals() {
    const timespec no_wait{};
    while (sigtimedwait(&ours_, nullptr, &no_wait) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t ours_{};
  sigset_t before_{};
};

// 0 or an errno.
int write_bytes(int descriptor, std::span<const std::byte> rest) {
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return written < 0 ? errno : EIO;
    }
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// One call of write_file_atomically().
struct FileWrite {
  Status run() const;
  Status replace(const std::string& path, const struct stat* old) const;
  Status write_directly(int descriptor) const;
  Status write_to(const Descriptor& file) const;
  Status failed(int error_number) const {
    return io_error({std::string(kAtomicFile), given}, error_number);
  }

  const std::string& given;  // the path
  std::size_t count;
  const FilePiece& piece;
  const FileSave& save;
};

Status FileWrite::write_to(const Descriptor& file) const {
  for (std::size_t n = 0; n < count; ++n) {
    HEADWISE_ASSIGN(const auto bytes, piece(n));
    if (const int error = write_bytes(file.number(), bytes); error != 0) {
      return failed(error);
    }
  }
  return ok();
}

Status FileWrite::write_directly(int descriptor) const {
  Descriptor file(descriptor);
  if (file.number() < 0) {
    return failed(errno);
  }
  HEADWISE_TRY(write_to(file));
  const int error = file.close();
  return error == 0 ? ok() : failed(error);
}

// `old` is the file whose owner and permissions stay, null where there is none.
Status FileWrite::replace(const std::string& path,
                          const struct stat* old) const {
  if (!save.shared_folder) {
    remove_leftovers(folder_of(path));
  }
  Temporary fresh;
  Descriptor& file = fresh.descriptor();
  // Nobody else may open the copy, because the file may be private.
  int error = fresh.create_file(folder_of(path), old == nullptr ? 0666 : 0600);
  if (error == 0 && old != nullptr) {
    error = fresh.keep_owner(*old);
  }
  if (error != 0) {
    return failed(error);
  }
  // Keeps the lock until the file has its name.
  const Descriptor lock(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
  HEADWISE_TRY(write_to(file));
  error = ::fsync(file.number()) == 0 ? file.close() : errno;
  if (error == 0) {
    error = ::rename(fresh.path().c_str(), path.c_str()) == 0
                ? sync_folder_of(path)
                : errno;
  }
  if (error != 0) {
    return failed(error);
  }
  fresh.release();
  return ok();
}

Status FileWrite::run() const {
  const auto target =
      save.own_name ? std::optional(LinkTarget{given}) : follow_links(given);
  if (!target) {
    return failed(ELOOP);
  }
  if (target->descriptor) {
    return write_directly(::fcntl(*target->descriptor, F_DUPFD_CLOEXEC, 0));
  }
  const std::string& path = target->path;
  struct stat old {};
  const bool exists = ::lstat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) {
    return failed(errno);
  }
  const bool is_link = exists && S_ISLNK(old.st_mode);
  if (is_link && !save.own_name) {
    return failed(ELOOP);  // it could not be read, or has just been put there
  }
  if (!exists || is_link) {
    return replace(path, nullptr);
  }
  if (S_ISDIR(old.st_mode)) {
    return failed(EISDIR);
  }
  if (!S_ISREG(old.st_mode)) {
    return save.own_name ? failed(EINVAL) : write_directly(retried([&] {
      return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }));
  }
  // A rename asks the folder only; a file that forbids writing is kept.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return failed(errno);
  }
  return replace(path, save.own_name ? nullptr : &old);
}

}  // namespace

Status write_file_atomically(const std::string& path,
                             std::span<const std::byte> bytes,
                             const FileSave& save) {
  return write_file_atomically(path, std::span(&bytes, 1), save);
}

Status write_file_atomically(const std::string& path,
                             std::span<const std::span<const std::byte>> pieces,
                             const FileSave& save) {
  return write_file_atomically(
      path, pieces.size(),
      [&](std::size_t n) -> Result<std::span<const std::byte>> {
        return pieces[n];
      },
      save);
}

Status write_file_atomically(const std::string& path, std::size_t count,
                             const FilePiece& piece, const FileSave& save) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_path(kAtomicFile, path));
    const HeldBackSignals signals;
    return FileWrite{path, count, piece, save}.run();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
