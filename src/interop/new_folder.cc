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
#include "interop/sync_folder.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr mode_t kAsTheUmaskSays = 0777;

bool is_there(const std::string& path) {
  return kind_of_entry(path) != EntryKind::nothing;
}

std::string old_name_of(const std::string& place) {
  const std::string folder = folder_of(place);
  return folder + ".headwise-old-" + place.substr(folder.size());
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
    if (!check_folder_named_by_file(operation, path_in(folder, below))) {
      files.push_back(below);
    } else if (Status s = list_files(operation, folder, below + "/", files);
               !s) {
      return s;
    }
  }
  return ok();
}

// Whether files of a folder that has this name in it can be reached without a
// link: what a link leads to is somebody else's.
bool leads_nowhere_else(const std::string& folder, const std::string& inner) {
  const EntryKind kind = kind_of_entry(path_in(folder, inner));
  return inner.empty() || kind == EntryKind::folder ||
         kind == EntryKind::nothing;
}

// 0 or an errno.
int move_one(const std::string& name, const std::string& from,
             const std::string& to) {
  std::string inner = folder_of(name);
  inner = inner.substr(0, inner.find_last_not_of('/') + 1);
  if (!leads_nowhere_else(from, inner) || !leads_nowhere_else(to, inner)) {
    return ENOTDIR;
  }
  if (kind_of_entry(path_in(from, name)) == EntryKind::folder) {
    return EISDIR;
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
    if (!is_there(path_in(from, name))) {
      continue;
    }
    if (const int error = move_one(name, from, to); error != 0) {
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
  if (!is_there(old)) {
    return;
  }
  if (is_there(canonical)) {
    remove_folder(old);
  } else {
    rename_or_errno(old, canonical);
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
      lock_(std::move(other.lock_)) {}

NewFolder::~NewFolder() {
  if (!path_.empty()) {
    remove_folder(path_);
  }
}

Result<NewFolder> NewFolder::create(std::string_view operation,
                                    const std::string& place) {
  HEADWISE_TRY(check_path(operation, place));
  NewFolder made(operation, place);
  if (const EntryKind kind = kind_of_entry(made.place_);
      kind != EntryKind::nothing && kind != EntryKind::folder) {
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
    if (name.empty() || ::mkdir(path.c_str(), kAsTheUmaskSays) != 0) {
      if (!name.empty() && errno == EEXIST) {
        continue;
      }
      return made.failed(errno).error();
    }
    made.path_ = std::move(path);
    made.lock_ = Descriptor(::open(
        made.path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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
  struct stat old {};
  if (::lstat(place_.c_str(), &old) != 0) {
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
      remove_folder(std::exchange(path_, {}));  // the old one has the name now
      return ok();
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
  remove_folder(old);
  return ok();
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
  const std::string old = path_ + "-old";
  const FileSubject subject{subject_.operation, shown_};
  Moves moves(subject);
  Status s = moves.move(leaving, place_, old);
  s = s ? moves.move(files, path_, place_) : s;
  if (s || moves.undo()) {
    remove_folder(old);
  }
  return s;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
