#include "headwise/interop/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

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

// A descriptor that is closed when it is left; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  // 0, or the errno of what had not reached the file yet.
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int number_;
};

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// 0 or an errno, as the next ones.
int write_pieces(int descriptor, Pieces pieces) {
  for (std::span<const std::byte> rest : pieces) {
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
  }
  return 0;
}

int write_directly(int descriptor, Pieces pieces) {
  Descriptor file(descriptor);
  if (file.number() < 0) {
    return errno;
  }
  const int failed = write_pieces(file.number(), pieces);
  const int not_closed = file.close();
  return failed != 0 ? failed : not_closed;
}

// "a/b/" of "a/b/c", "" of "c"
std::string folder_of(const std::string& path) {
  return path.substr(0, path.find_last_of('/') + 1);
}

// A new file beside `path`, which is told in `temporary`; -1 and errno if there
// can be none.
int open_temporary(const std::string& path, mode_t mode,
                   std::string& temporary) {
  constexpr int kAttempts = 100;
  int descriptor = -1;
  for (int attempt = 0; attempt < kAttempts && descriptor < 0; ++attempt) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) < 0) {
      return -1;
    }
    temporary = folder_of(path) + ".headwise-" + std::to_string(number);
    descriptor = open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (descriptor < 0 && errno != EEXIST) {
      return -1;
    }
  }
  return descriptor;
}

// 0 or an errno. `file` holds all pieces, safely, when it is 0.
int fill(Descriptor& file, const struct stat* old, Pieces pieces) {
  if (old != nullptr) {
    // Only root may give a file away; another keeps it.
    [[maybe_unused]] const int kept =
        ::fchown(file.number(), old->st_uid, old->st_gid);
    if (::fchmod(file.number(), old->st_mode & 0777) != 0) {
      return errno;
    }
  }
  if (const int failed = write_pieces(file.number(), pieces); failed != 0) {
    return failed;
  }
  return ::fsync(file.number()) == 0 ? file.close() : errno;
}

// `old` is the file that is replaced, null when there is none.
int replace_file(const std::string& path, const struct stat* old,
                 Pieces pieces) {
  std::string temporary;
  // Nobody else may open the copy of a file that is not everybody's.
  Descriptor file(
      open_temporary(path, old == nullptr ? 0666 : 0600, temporary));
  if (file.number() < 0) {
    return errno;
  }
  int failed = fill(file, old, pieces);
  if (failed == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) {
    ::unlink(temporary.c_str());
  }
  return failed;
}

// The number of the open file that a path names: 1 of "/proc/self/fd/1", where
// /dev/stdout points to.
std::optional<int> open_file_number(std::string_view path) {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (path.starts_with(folder)) {
      const std::string_view digits = path.substr(folder.size());
      int number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size()) {
        return number;
      }
    }
  }
  return std::nullopt;
}

// Follows the links that `path` itself is, as far as an open file; false when
// they go round.
bool follow_links(std::string& path) {
  constexpr int kMostLinks = 40;
  for (int link = 0; link < kMostLinks; ++link) {
    std::array<char, PATH_MAX> text{};
    const ssize_t length =
        open_file_number(path)
            ? -1
            : ::readlink(path.c_str(), text.data(), text.size());
    if (length < 0) {
      return true;
    }
    const std::string next(text.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? std::string() : folder_of(path);
    path += next;
  }
  return false;
}

int write_target(std::string path, Pieces pieces) {
  if (!follow_links(path)) {
    return ELOOP;
  }
  if (const std::optional<int> number = open_file_number(path)) {
    return write_directly(::fcntl(*number, F_DUPFD_CLOEXEC, 0), pieces);
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists) {
    return errno == ENOENT ? replace_file(path, nullptr, pieces) : errno;
  }
  if (S_ISDIR(status.st_mode)) {
    return EISDIR;
  }
  if (!S_ISREG(status.st_mode)) {
    return write_directly(open_retrying(path, O_WRONLY), pieces);
  }
  // A rename asks the folder only; a file that forbids writing is kept.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return errno;
  }
  return replace_file(path, &status, pieces);
}

}  // namespace

Status write_file_atomically(const std::string& path,
                             std::span<const std::byte> bytes) {
  return write_file_atomically(path, Pieces(&bytes, 1));
}

Status write_file_atomically(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces) {
  return catching_out_of_memory([&]() -> Status {
    if (path.find('\0') != std::string::npos) {
      return Error{ErrorCode::invalid_argument,
                   "write_file_atomically: " + printable(path) +
                       ": a path cannot hold a NUL character"};
    }
    const HeldBackSignals signals;
    const int failed = write_target(path, pieces);
    if (failed != 0) {
      return io_error("write_file_atomically: " + path, failed);
    }
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
