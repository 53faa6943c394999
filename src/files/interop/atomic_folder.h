// Writes a folder completely or not at all: readers find the old files or the
// new ones, never some of each.
//
//   Status s = write_folder_atomically(
//       {.operation = "write_model", .place = "model", .last = "config.json"},
//       [](const std::string& fresh) {
//         return write_file_atomically(fresh + "/config.json", "{}");
//       });
//
// The new folder is written next to the old one, and the two are exchanged with
// renameat2(RENAME_EXCHANGE). On a file system without it, the old one is moved
// to .headwise-old-NAME-CHECK first; if the process is killed just then,
// recover_folder() moves it back.
//
// A folder that holds foreign files, or that something is mounted at, stays:
// the new files move into it, and the old ones leave. After a failure the old
// files are there; if the process is killed between, they are in
// .headwise-NUMBER-CHECK-old.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// What a folder holds: paths below it, "a" or "a/b".
struct FolderEntries {
  std::vector<std::string> own{};  // regular files, which a new folder replaces
  std::vector<std::string> foreign{};
};

struct FolderSave {
  std::string_view operation;  // errors begin with it
  // A folder, a link to one, or nothing yet. Its parents are created.
  const std::string& place;
  // What is in the place, looked at after the new files are written.
  const FolderEntries& old;
  // Of files that move, this one leaves first and comes last.
  std::string last;
  // Names of regular files that stay in the place unless there are new ones.
  // Those that are not there are passed over.
  std::span<const std::string> keep{};
  bool may_exchange = true;  // false: as on a file system that cannot
};

// `fill` writes the new files to the folder `fresh`; in its errors, `fresh`
// becomes the place. Errors: those of `fill`; io_error, also when the new
// folder is in its place and the old one, which the error then names, cannot be
// removed; invalid_argument for a name in `keep` that is a path, and for a
// place with a NUL character.
Status write_folder_atomically(
    const FolderSave& save, FunctionRef<Status(const std::string& fresh)> fill);

// Puts the folder back that was to be replaced when its process was killed, or
// removes it where the new one is there.
void recover_folder(const std::string& place);

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
