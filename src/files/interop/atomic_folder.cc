#include "interop/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "headwise/interop/atomic_file.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/temporary.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// 0 or an errno.
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
  HEADWISE_ASSIGN(const auto names,
                  names_in_folder(operation, path_in(folder, within)));
  for (const std::string& name : names) {
    const std::string below = within + name;
    HEADWISE_ASSIGN(const auto kind,
                    kind_of_entry(operation, path_in(folder, below)));
    if (kind != EntryKind::folder) {
      files.push_back(below);
    } else if (Status s = list_files(operation, folder, below + "/", files);
               !s) {
      return s;
    }
  }
  return ok();
}

// Moves a file that is there, and makes folders for it. Errors have a number
// only.
Status move_file(const std::string& name, const std::string& from,
                 const std::string& to) {
  std::string inner = folder_of(name);
  inner = inner.substr(0, inner.find_last_not_of('/') + 1);
  for (const std::string& folder : {from, to}) {
    HEADWISE_ASSIGN(const auto kind, kind_of_entry("", path_in(folder, inner)));
    if (!inner.empty() && kind != EntryKind::folder &&
        kind != EntryKind::nothing) {
      return io_error({}, ENOTDIR);  // what a link leads to is somebody else's
    }
  }
  HEADWISE_TRY(make_folder("", path_in(to, inner)));
  const int error = rename_or_errno(path_in(from, name), path_in(to, name));
  return error == 0 ? ok() : io_error({}, error);
}

// Files on their way from one folder to another, which can be taken back.
class Moves {
 public:
  // Names that are not there are passed over. Errors name the files as if they
  // were in subject.file.
  Status move(const FileSubject& subject, std::span<const std::string> names,
              const std::string& from, const std::string& to);
  // Whether every file is back.
  bool undo();

 private:
  std::vector<std::pair<std::string, std::string>> moved_;
};

Status Moves::move(const FileSubject& subject,
                   std::span<const std::string> names, const std::string& from,
                   const std::string& to) {
  for (const std::string& name : names) {
    const auto kind = kind_of_entry("", path_in(from, name));
    if (kind && *kind == EntryKind::nothing) {
      continue;
    }
    const Status s = !kind                        ? kind.error()
                     : *kind == EntryKind::folder ? io_error({}, EISDIR)
                                                  : move_file(name, from, to);
    if (!s) {
      return io_error({subject.operation, path_in(subject.file, name)},
                      s.error().details().system_error);
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

// The files can be moved though the folder cannot: it is a mount point, or a
// folder of a container's image.
bool may_move_files(const Error& error) {
  const int number = error.details().system_error;
  return number == EBUSY || number == EXDEV;
}

// One call of write_folder_atomically().
class FolderWrite {
 public:
  explicit FolderWrite(const FolderSave& save)
      : save_(save),
        subject_{std::string(save.operation), save.place},
        place_(canonical_path(save.place)) {
    while (subject_.file.size() > 1 && subject_.file.ends_with('/')) {
      subject_.file.pop_back();
    }
  }

  // Creates the new folder.
  Status create();
  const std::string& path() const { return fresh_.path(); }
  // The error about a file of the new folder, with the place instead.
  Error in_place(const Error& error) const;
  Status put_in_place();

 private:
  Status failed(int error_number) const {
    return io_error({subject_.operation, save_.place}, error_number);
  }
  Result<std::vector<std::string>> names_to_keep() const;
  Status link_files(std::span<const std::string> names) const;
  Status replace_folder();
  Status exchange();
  Status move_files(std::span<const std::string> keep);
  Status remove_old(const std::string& path) const;

  const FolderSave& save_;
  FileSubject subject_;  // the place as it was given
  std::string place_;    // canonical
  Temporary fresh_;
};

Status FolderWrite::create() {
  const auto kind = kind_of_entry("", place_);
  if (!kind || *kind == EntryKind::file || *kind == EntryKind::other) {
    return failed(kind ? ENOTDIR : kind.error().details().system_error);
  }
  const std::string parent =
      is_mount_point(place_) ? path_in(place_, "") : folder_of(place_);
  HEADWISE_TRY(make_folder(save_.operation, parent));
  recover_folder(place_);
  remove_leftovers(parent);
  const int error = fresh_.create_folder(parent);
  return error == 0 ? ok() : failed(error);
}

Error FolderWrite::in_place(const Error& error) const {
  ErrorDetails details = error.details();
  if (!details.file.starts_with(path())) {
    return error;
  }
  details.file.replace(0, path().size(), subject_.file);
  return {error.code(), std::move(details)};
}

Result<std::vector<std::string>> FolderWrite::names_to_keep() const {
  std::vector<std::string> names;
  for (const std::string& name : save_.keep) {
    if (!is_plain_name(name)) {
      return value_error(save_.operation, "keep", printable(name),
                         "the name of a file");
    }
    HEADWISE_ASSIGN(
        const auto old,
        is_regular_file(save_.operation, path_in(save_.place, name)));
    HEADWISE_ASSIGN(const auto made,
                    kind_of_entry(save_.operation, path_in(path(), name)));
    if (old && made == EntryKind::nothing) {
      names.push_back(name);
    }
  }
  return names;
}

// Gives the new folder the files of the old one.
Status FolderWrite::link_files(std::span<const std::string> names) const {
  for (const std::string& name : names) {
    const std::string old = path_in(save_.place, name);
    const std::string kept = path_in(path(), name);
    if (::link(old.c_str(), kept.c_str()) != 0) {  // the file system has none
      HEADWISE_TRY(copy_file(save_.operation, old, kept));
    }
  }
  return ok();
}

Status FolderWrite::put_in_place() {
  HEADWISE_ASSIGN(const auto keep, names_to_keep());
  if (save_.old.foreign.empty() && !lies_in(path(), place_)) {
    if (Status s = link_files(keep); !s) {
      return in_place(s.error());
    }
    Status s = replace_folder();
    if (s || !may_move_files(s.error())) {
      return s;
    }
    for (const std::string& name : keep) {
      const std::string kept = path_in(path(), name);
      if (::unlink(kept.c_str()) != 0) {
        return io_error({subject_.operation, kept}, errno);
      }
    }
  }
  return move_files(keep);
}

Status FolderWrite::replace_folder() {
  // A signal must not remove half of what takes its place.
  fresh_.hide_from_signals();
  struct stat old {};
  int error = 0;
  if (::lstat(place_.c_str(), &old) == 0) {
    error = fresh_.keep_owner(old);
    return error == 0 ? exchange() : failed(error);
  }
  error = means_absent(errno) ? rename_or_errno(path(), place_) : errno;
  if (error != 0) {
    return failed(error);
  }
  fresh_.release();
  return ok();
}

Status FolderWrite::exchange() {
  if (save_.may_exchange) {
    if (::renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, place_.c_str(),
                    RENAME_EXCHANGE) == 0) {
      return remove_old(fresh_.release());  // it has the name now
    }
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
      return failed(errno);
    }
  }
  const std::string old = old_name_of(place_);
  int error = rename_or_errno(place_, old);
  if (error == 0 && (error = rename_or_errno(path(), place_)) != 0) {
    rename_or_errno(old, place_);
  }
  if (error != 0) {
    return failed(error);
  }
  fresh_.release();
  return remove_old(old);
}

Status FolderWrite::remove_old(const std::string& path) const {
  const int error = remove_folder(path);
  return error == 0 ? ok()
                    : Status(Error(ErrorCode::io_error,
                                   {.operation = subject_.operation,
                                    .file = path,
                                    .given = "cannot be removed",
                                    .hint = "it holds what was replaced"}));
}

Status FolderWrite::move_files(std::span<const std::string> keep) {
  std::vector<std::string> files;
  HEADWISE_TRY(list_files(save_.operation, path(), "", files));
  std::erase(files, save_.last);
  std::vector<std::string> leaving = {save_.last};
  std::ranges::copy_if(save_.old.own, std::back_inserter(leaving),
                       [&](const std::string& name) {
                         return std::ranges::find(keep, name) == keep.end();
                       });
  leaving.insert(leaving.end(), files.begin(), files.end());
  files.push_back(save_.last);
  fresh_.hide_from_signals();
  const std::string old = path() + "-old";
  Moves moves;
  Status s = moves.move(subject_, leaving, place_, old);
  s = s ? moves.move(subject_, files, path(), place_) : s;
  if (s) {
    return remove_old(old);
  }
  if (moves.undo()) {
    remove_folder(old);
  }
  return s;
}

}  // namespace

Status write_folder_atomically(
    const FolderSave& save,
    FunctionRef<Status(const std::string& fresh)> fill) {
  HEADWISE_TRY(check_path(save.operation, save.place));
  FolderWrite write(save);
  HEADWISE_TRY(write.create());
  if (Status s = fill(write.path()); !s) {
    return write.in_place(s.error());
  }
  return write.put_in_place();
}

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

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to) {
  HEADWISE_ASSIGN(auto file, InputFile::open(operation, from));
  const auto bytes = file.read_all();
  return bytes ? write_file_atomically(to, *bytes) : bytes.error();
}

}  // namespace headwise::internal::inline HEADWISE_ABI
