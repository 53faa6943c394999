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
#include "interop/keep_owner.h"
#include "interop/leftovers.h"
#include "interop/other_atomic_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kAtomicFile = "write_file_atomically";

// The bytes of a file, and the error if one could not be read.
class Pieces {
 public:
  Pieces(std::size_t count, const PieceInTurn& piece)
      : count_(count), piece_(piece) {}

  std::size_t count() const { return count_; }
  // Empty on failure; see failure().
  std::optional<std::span<const std::byte>> piece(std::size_t n) {
    auto bytes = piece_(n);
    if (!bytes) {
      failure_ = bytes.error();
      return std::nullopt;
    }
    return *bytes;
  }
  const Status& failure() const { return failure_; }

 private:
  std::size_t count_;
  const PieceInTurn& piece_;
  Status failure_ = ok();
};

enum class Leftovers { removed, kept };
enum class Links { followed, replaced };

struct Manner {
  Leftovers leftovers = Leftovers::removed;
  Links links = Links::followed;
};

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

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  return retried(
      [&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode); });
}

// 0 or an errno, as the next ones.
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

int write_pieces(int descriptor, Pieces& pieces) {
  for (std::size_t n = 0; n < pieces.count(); ++n) {
    const auto bytes = pieces.piece(n);
    const int failed = bytes ? write_bytes(descriptor, *bytes) : EIO;
    if (failed != 0) {
      return failed;
    }
  }
  return 0;
}

int write_directly(int descriptor, Pieces& pieces) {
  Descriptor file(descriptor);
  if (file.number() < 0) {
    return errno;
  }
  const int failed = write_pieces(file.number(), pieces);
  const int not_closed = file.close();
  return failed != 0 ? failed : not_closed;
}

// Creates a file next to `path` and sets `temporary` to its path; -1 and errno
// on failure. A signal finds its name before the file is there.
int open_temporary(const std::string& path, mode_t mode, std::string& temporary,
                   Unfinished& unfinished) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = temporary_name();
    if (name.empty()) {
      return -1;
    }
    temporary = folder_of(path) + name;
    unfinished = begin_unfinished(temporary);
    const int descriptor =
        open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (descriptor < 0 && errno != EEXIST) {
      return -1;
    }
    if (descriptor >= 0 && hold_temporary(descriptor, temporary)) {
      return descriptor;
    }
    if (descriptor >= 0) {
      ::close(descriptor);
      errno = EAGAIN;
    }
  }
  return -1;
}

// 0 or an errno. `file` holds all pieces, safely, when it is 0.
int fill_file(Descriptor& file, const struct stat* old, Pieces& pieces) {
  if (old != nullptr) {
    if (const int failed = keep_owner(file.number(), *old); failed != 0) {
      return failed;
    }
  }
  if (const int failed = write_pieces(file.number(), pieces); failed != 0) {
    return failed;
  }
  return ::fsync(file.number()) == 0 ? file.close() : errno;
}

// `old` is the file that is replaced, null when there is none.
int replace_file(const std::string& path, const struct stat* old,
                 Pieces& pieces, Leftovers leftovers) {
  if (leftovers == Leftovers::removed) {
    remove_leftovers(folder_of(path));
  }
  std::string temporary;
  Unfinished unfinished;
  // Nobody else may open the copy, because the file may be private.
  Descriptor file(open_temporary(path, old == nullptr ? 0666 : 0600, temporary,
                                 unfinished));
  if (file.number() < 0) {
    return errno;
  }
  // Keeps the lock until the file has its name.
  const Descriptor lock(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
  int failed = fill_file(file, old, pieces);
  if (failed == 0) {
    failed = ::rename(temporary.c_str(), path.c_str()) == 0
                 ? sync_folder_of(path)
                 : errno;
  }
  if (failed != 0) {
    ::unlink(temporary.c_str());
  }
  return failed;
}

int write_target(const std::string& given, Pieces& pieces,
                 const Manner& manner) {
  const auto target = manner.links == Links::followed
                          ? follow_links(given)
                          : std::optional(LinkTarget{given});
  if (!target) {
    return ELOOP;
  }
  if (target->descriptor) {
    return write_directly(::fcntl(*target->descriptor, F_DUPFD_CLOEXEC, 0),
                          pieces);
  }
  const std::string& path = target->path;
  struct stat status {};
  const bool exists = ::lstat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) {
    return errno;
  }
  const bool is_link = exists && S_ISLNK(status.st_mode);
  if (is_link && manner.links == Links::followed) {
    return ELOOP;  // it could not be read, or has just been put there
  }
  if (!exists || is_link) {
    return replace_file(path, nullptr, pieces, manner.leftovers);
  }
  if (S_ISDIR(status.st_mode)) {
    return EISDIR;
  }
  if (!S_ISREG(status.st_mode)) {
    return manner.links == Links::followed
               ? write_directly(open_retrying(path, O_WRONLY), pieces)
               : EINVAL;
  }
  // A rename asks the folder only; a file that forbids writing is kept.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return errno;
  }
  return replace_file(path, manner.links == Links::followed ? &status : nullptr,
                      pieces, manner.leftovers);
}

Status write_file(const std::string& path, std::size_t count,
                  const PieceInTurn& piece, const Manner& manner) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_path(kAtomicFile, path));
    const HeldBackSignals signals;
    Pieces pieces(count, piece);
    const int failed = write_target(path, pieces, manner);
    HEADWISE_TRY(pieces.failure());
    if (failed != 0) {
      return io_error({std::string(kAtomicFile), path}, failed);
    }
    return ok();
  });
}

Status write_file(const std::string& path,
                  std::span<const std::span<const std::byte>> pieces,
                  const Manner& manner) {
  return write_file(
      path, pieces.size(),
      [&](std::size_t n) -> Result<std::span<const std::byte>> {
        return pieces[n];
      },
      manner);
}

}  // namespace

Status write_file_atomically(const std::string& path,
                             std::span<const std::byte> bytes) {
  return write_file_atomically(path, std::span(&bytes, 1));
}

Status write_file_atomically(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces) {
  return write_file(path, pieces, {});
}

Status write_own_file(const std::string& path, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return write_file(path, std::span(&bytes, 1), {.links = Links::replaced});
}

Status write_file_among_others(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces) {
  return write_file(path, pieces, {Leftovers::kept, Links::replaced});
}

Status write_file_in_turn(const std::string& path, std::size_t count,
                          const PieceInTurn& piece) {
  return write_file(path, count, piece, {});
}

}  // namespace headwise::inline HEADWISE_ABI
