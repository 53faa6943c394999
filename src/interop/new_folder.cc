#include "interop/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/keep_owner.h"
#include "interop/leftovers.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr mode_t kAsTheUmaskSays = 0777;

// 0 or an errno, and the kind.
int look_at(const std::string& path, EntryKind& kind) {
  const auto found = kind_of_entry("", path);
  kind = found ? *found : EntryKind::other;
  return found ? 0 : found.error().details().system_error;
}

int rename_or_errno(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return errno;
  }
  sync_folder_of(to);  // the name is there; it cannot be taken back for this
  return 0;
}

// The names of all files below a folder, as "a/b".
Status list_files(std::string_view operation, const std::string& folder,
                  const std::string& within, std::vector<std::string>& files) {
  const auto names = names_in_folder(operation, path_in(folder, within));
  HEADWISE_TRY(names);
  for (const std::string& name : *names) {
    const std::string below = within + name;
    const auto kind = kind_of_entry(operation, path_in(folder, below));
    HEADWISE_TRY(kind);
    if (*kind != EntryKind::folder) {
      files.push_back(below);
    } else if (Status s = list_files(operation, folder, below + "/", files);
               !s) {
      return s;
    }
  }
  return ok();
}

// Whether files of a folder that has this name in it can be reached without a
// link: what a link leads to is somebody else's. 0 or an errno.
int check_leads_nowhere_else(const std::string& folder,
                             const std::string& inner) {
  EntryKind kind{};
  const int error = look_at(path_in(folder, inner), kind);
  const bool leads_elsewhere =
      !inner.empty() && kind != EntryKind::folder && kind != EntryKind::nothing;
  return error == 0 && leads_elsewhere ? ENOTDIR : error;
}

// 0 or an errno.
int move_one(const std::string& name, const std::string& from,
             const std::string& to) {
  std::string inner = folder_of(name);
  inner = inner.substr(0, inner.find_last_not_of('/') + 1);
  for (const std::string& folder : {from, to}) {
    if (const int error = check_leads_nowhere_else(folder, inner); error != 0) {
      return error;
    }
  }
  if (Status s = make_folder("", path_in(to, inner)); !s) {
    return s.error().details().system_error;
  }
  return rename_or_errno(path_in(from, name), path_in(to, name));
}

// Files on their way from one folder to another, which can be taken back.
class Moves {
 public:
  // Errors name the files as if they were in subject.file.
  explicit Moves(const FileSubject& subject) : subject_(subject) {}

  // Names that are not there are passed over. Folders are made.
  Status move(std::span<const std::string> names, const std::string& from,
              const std::string& to);
  // Whether every file is back.
  bool undo();

 private:
  const FileSubject& subject_;
  std::vector<std::pair<std::string, std::string>> moved_;
};

Status Moves::move(std::span<const std::string> names, const std::string& from,
                   const std::string& to) {
  for (const std::string& name : names) {
    EntryKind kind{};
    int error = look_at(path_in(from, name), kind);
    if (error == 0 && kind == EntryKind::nothing) {
      continue;
    }
    error = error != 0                  ? error
            : kind == EntryKind::folder ? EISDIR
                                        : move_one(name, from, to);
    if (error != 0) {
      return io_error({subject_.operation, path_in(subject_.file, name)},
                      error);
    }
    moved_.emplace_back(path_in(from, name), path_in(to, name));
  }
  return ok();
}

bool Moves::undo() {
  bool is_undone = true;
  for (; !moved_.empty(); moved_.pop_back()) {
    const auto& [from, to] = moved_.back();
    is_undone = rename_or_errno(to, from) == 0 && is_undone;
  }
  return is_undone;
}

}  // namespace

void recover_folder(const std::string& place) {
  const std::string canonical = canonical_path(place);
  const std::string old = old_name_of(canonical);
  const auto left = kind_of_entry("", old);
  const auto there = kind_of_entry("", canonical);
  if (!left || !there || *left == EntryKind::nothing) {
    return;
  }
  if (*there == EntryKind::nothing) {
    rename_or_errno(old, canonical);
  } else {
    remove_folder(old);
  }
}

NewFolder::NewFolder(std::string_view operation, const std::string& place)
    : subject_{std::string(operation), place},
      place_(canonical_path(place)),
      shown_(place) {
  while (shown_.size() > 1 && shown_.ends_with('/')) {
    shown_.pop_back();
  }
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : subject_(std::move(other.subject_)),
      place_(std::move(other.place_)),
      shown_(std::move(other.shown_)),
      path_(std::exchange(other.path_, {})),
      unfinished_(std::move(other.unfinished_)),
      lock_(std::move(other.lock_)) {}

NewFolder::~NewFolder() {
  unfinished_.reset();
  if (!path_.empty()) {
    remove_folder(path_);
  }
}

Result<NewFolder> NewFolder::create(std::string_view operation,
                                    const std::string& place) {
  HEADWISE_TRY(check_path(operation, place));
  NewFolder made(operation, place);
  EntryKind kind{};
  if (const int error = look_at(made.place_, kind); error != 0) {
    return made.failed(error).error();
  }
  if (kind != EntryKind::nothing && kind != EntryKind::folder) {
    return made.failed(ENOTDIR).error();
  }
  const std::string parent = is_mount_point(made.place_)
                                 ? path_in(made.place_, "")
                                 : folder_of(made.place_);
  HEADWISE_TRY(make_folder(operation, parent));
  recover_folder(made.place_);
  remove_leftovers(parent);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = temporary_name();
    std::string path = parent + name;
    made.unfinished_ = begin_unfinished(path);
    if (name.empty() || ::mkdir(path.c_str(), kAsTheUmaskSays) != 0) {
      if (!name.empty() && errno == EEXIST) {
        continue;
      }
      return made.failed(errno).error();
    }
    made.path_ = std::move(path);
    made.lock_ = Descriptor(retried([&] {
      return ::open(made.path_.c_str(),
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }));
    if (made.lock_.number() < 0) {
      return made.failed(errno).error();
    }
    if (hold_temporary(made.lock_.number(), made.path_)) {
      return made;
    }
    made.path_.clear();  // another process took it for a leftover
  }
  return made.failed(EAGAIN).error();
}

Error NewFolder::in_place(const Error& error) const {
  if (!error.details().file.starts_with(path_)) {
    return error;
  }
  ErrorDetails details = error.details();
  details.file.replace(0, path_.size(), shown_);
  return {error.code(), std::move(details)};
}

Status NewFolder::failed(int error_number) const {
  return io_error(subject_, error_number);
}

Status NewFolder::take_place(FolderExchange how) {
  unfinished_.reset();  // a signal must not remove half of what takes its place
  struct stat old {};
  if (::lstat(place_.c_str(), &old) != 0) {
    if (!means_absent(errno)) {
      return failed(errno);
    }
    if (const int error = rename_or_errno(path_, place_); error != 0) {
      return failed(error);
    }
    path_.clear();
    return ok();
  }
  if (const int error = keep_owner(lock_.number(), old); error != 0) {
    return failed(error);
  }
  return exchange(how);
}

Status NewFolder::exchange(FolderExchange how) {
  if (how == FolderExchange::if_possible) {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(),
                    RENAME_EXCHANGE) == 0) {
      return remove_old(std::exchange(path_, {}));  // it has the name now
    }
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
      return failed(errno);
    }
  }
  const std::string old = old_name_of(place_);
  int error = rename_or_errno(place_, old);
  if (error == 0 && (error = rename_or_errno(path_, place_)) != 0) {
    rename_or_errno(old, place_);
  }
  if (error != 0) {
    return failed(error);
  }
  path_.clear();
  return remove_old(old);
}

Status NewFolder::remove_old(const std::string& path) const {
  const int error = remove_folder(path);
  return error == 0 ? ok()
                    : Status(Error(ErrorCode::io_error,
                                   {.operation = subject_.operation,
                                    .file = path,
                                    .given = "cannot be removed",
                                    .hint = "it holds what was replaced"}));
}

bool NewFolder::is_within_its_place() const { return lies_in(path_, place_); }

Status NewFolder::move_files(std::span<const std::string> replaced,
                             const std::string& last) {
  std::vector<std::string> files;
  HEADWISE_TRY(list_files(subject_.operation, path_, "", files));
  std::erase(files, last);
  std::vector<std::string> leaving = {last};
  leaving.insert(leaving.end(), replaced.begin(), replaced.end());
  leaving.insert(leaving.end(), files.begin(), files.end());
  files.push_back(last);
  unfinished_.reset();
  const std::string old = path_ + "-old";
  const FileSubject subject{subject_.operation, shown_};
  Moves moves(subject);
  Status s = moves.move(leaving, place_, old);
  s = s ? moves.move(files, path_, place_) : s;
  if (s) {
    return remove_old(old);
  }
  if (moves.undo()) {
    remove_folder(old);
  }
  return s;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
