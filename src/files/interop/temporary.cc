#include "interop/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "headwise/interop/atomic_file.h"
#include "headwise/interop/paths.h"
#include "headwise/interop/sha256.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kPrefix = ".headwise-";
constexpr std::size_t kMostUnfinished = 64;

// Paths that a signal handler may have to remove: no lock protects them.
std::array<std::atomic<char*>, kMostUnfinished> unfinished;

std::string with_check(const std::string& name) {
  constexpr std::size_t kDigits = 16;
  return name + "-" + sha256_of("headwise " + name).substr(0, kDigits);
}
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool lock(int descriptor, int how) {
  return retried([&] { return ::flock(descriptor, how); }) == 0;
}

// visit(folder, name) for each entry of a folder, which is then closed. Without
// readdir(), which allocates: signal handlers come here.
template <class Visit>
void visit_folder(int descriptor, const Visit& visit) {
  constexpr std::size_t kBytes = 4096;
  const Descriptor folder(descriptor);
  alignas(dirent64) std::array<char, kBytes> entries;
  ssize_t count = 0;
  while ((count = ::getdents64(folder.number(), entries.data(), kBytes)) > 0) {
    for (ssize_t at = 0; at < count;) {
      const auto* const entry =
          reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        visit(folder.number(), entry->d_name);
      }
    }
  }
}

// 0, or the first errno.
int remove_entry(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) {
    return 0;
  }
  if (errno != EISDIR) {
    return errno;
  }
  int failed = 0;
  visit_folder(retried([&] { return ::openat(folder, name, kOpenFolder); }),
               [&](int inner, const char* entry) {
                 const int error = remove_entry(inner, entry);
                 failed = failed != 0 ? failed : error;
               });
  // Another process may remove the same leftovers, and be done first.
  const bool removed =
      ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
  return removed ? 0 : failed != 0 ? failed : errno;
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

// Locks what was just made. False where another process has removed it.
bool lock_temporary(int descriptor, const std::string& path) {
  if (!lock(descriptor, LOCK_EX)) {
    return true;  // a file system without locks, where nothing is removed
  }
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 &&
         ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// Without setuid and setgid for a file; for a folder they set the owner of new
// entries.
mode_t permissions_of(const struct stat& old) {
  return old.st_mode & (S_ISDIR(old.st_mode) ? 07777 : 0777);
}

// If the group cannot be kept: the new group and others get only the
// permissions that both the old group and others had.
mode_t without_group(mode_t mode) {
  const mode_t both = (mode >> 3) & mode & S_IRWXO;
  return (mode & S_IRWXU) | (both << 3) | both;
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  const std::string_view start = name.substr(0, name.find_last_of('-'));
  return name.starts_with(kPrefix) && start.size() > kPrefix.size() &&
         std::ranges::all_of(start.substr(kPrefix.size()),
                             [](char character) {
                               return character >= '0' && character <= '9';
                             }) &&
         name == with_check(std::string(start));
}

std::string temporary_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) < 0) {
    return "";
  }
  return with_check(std::string(kPrefix) + std::to_string(number));
}

std::string old_name_of(const std::string& place) {
  const std::string folder = folder_of(place);
  return folder + with_check(std::string(kPrefix) + "old-" +
                             place.substr(folder.size()));
}

void remove_leftovers(const std::string& folder) {
  visit_folder(::open(folder.empty() ? "." : folder.c_str(),
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC),
               remove_if_left_over);
}

int remove_folder(const std::string& path) {
  return remove_entry(AT_FDCWD, path.c_str());
}

Temporary::~Temporary() {
  if (!path_.empty()) {
    remove_folder(path_);
  }
}

// `make` returns the descriptor of what it made, or -1 and sets errno.
template <class Make>
int Temporary::create(const std::string& folder, const Make& make) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = temporary_name();
    if (name.empty()) {
      return errno;
    }
    std::string path = folder + name;
    unfinished_ = begin_unfinished(path);  // before anything is there
    descriptor_ = Descriptor(retried([&] { return make(path.c_str()); }));
    if (descriptor_.number() < 0 && errno != EEXIST) {
      return errno;
    }
    if (descriptor_.number() >= 0 &&
        lock_temporary(descriptor_.number(), path)) {
      path_ = std::move(path);
      return 0;
    }
  }
  return EAGAIN;
}

int Temporary::create_file(const std::string& folder, mode_t mode) {
  return create(folder, [&](const char* path) {
    return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
                  mode);
  });
}

int Temporary::create_folder(const std::string& folder) {
  constexpr mode_t kAsTheUmaskSays = 0777;
  return create(folder, [&](const char* path) {
    if (::mkdir(path, kAsTheUmaskSays) != 0) {
      return -1;
    }
    const int opened = retried([&] { return ::open(path, kOpenFolder); });
    if (opened < 0) {
      const int error = errno;
      ::rmdir(path);
      // Another process took it for a leftover: the next name is tried.
      errno = error == ENOENT ? EEXIST : error;
    }
    return opened;
  });
}

int Temporary::keep_owner(const struct stat& old) const {
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  // Only root may give a file away; a member of the group may keep that.
  const bool kept =
      ::fchown(descriptor_.number(), old.st_uid, old.st_gid) == 0 ||
      ::fchown(descriptor_.number(), kSameOwner, old.st_gid) == 0;
  struct stat now {};
  if (!kept && ::fstat(descriptor_.number(), &now) != 0) {
    return errno;
  }
  const mode_t mode = permissions_of(old);
  const bool has_group = kept || now.st_gid == old.st_gid;
  return ::fchmod(descriptor_.number(),
                  has_group ? mode : without_group(mode)) == 0
             ? 0
             : errno;
}

Temporary::Unfinished Temporary::begin_unfinished(const std::string& path) {
  char* const copy = ::strdup(path.c_str());
  for (std::atomic<char*>& slot : unfinished) {
    char* none = nullptr;
    if (copy != nullptr && slot.compare_exchange_strong(none, copy)) {
      return Unfinished(&slot);
    }
  }
  std::free(copy);  // NOLINT(cppcoreguidelines-no-malloc): of strdup()
  return nullptr;
}

void Temporary::EndUnfinished::operator()(std::atomic<char*>* path) const {
  char* const mine = path->exchange(nullptr);
  while (mine == nullptr) {
    ::pause();
  }
  std::free(mine);  // NOLINT(cppcoreguidelines-no-malloc): of strdup()
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

void remove_unfinished_files() noexcept {
  const int before = errno;
  for (std::atomic<char*>& path : internal::unfinished) {
    if (const char* const taken = path.exchange(nullptr); taken != nullptr) {
      internal::remove_entry(AT_FDCWD, taken);
    }
  }
  errno = before;
}

}  // namespace headwise::inline HEADWISE_ABI
