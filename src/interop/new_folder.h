// A folder that is written completely next to its final place and then replaces
// it in one step: readers find the old files or the new ones, never some of
// each.
//
//   auto fresh = NewFolder::create("write_model", "model");
//   .. write to fresh->path() + "/config.json" ..
//   Status s = fresh->take_place();
//
// The two folders are exchanged with renameat2(RENAME_EXCHANGE). On a file
// system without it, the old one is moved to .headwise-old-NAME-CHECK first; if
// the process is killed just then, recover_folder() moves it back.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "interop/descriptor.h"
#include "interop/leftovers.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

enum class FolderExchange { if_possible, never };

class NewFolder {
 public:
  // Creates an empty folder next to `place`, which is a folder, a link to one,
  // or does not exist yet; in it if something is mounted there. Creates parent
  // folders. Errors, which begin with `operation`: io_error; invalid_argument
  // for a path with a NUL character.
  static Result<NewFolder> create(std::string_view operation,
                                  const std::string& place);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  // Removes it, unless it took its place.
  ~NewFolder();

  // Where to write.
  const std::string& path() const { return path_; }
  // The error about a file of path(), with the place instead.
  Error in_place(const Error& error) const;

  // Whether it was created in its place, which it then cannot take.
  bool is_within_its_place() const;

  // Replaces the folder in its place, with all that is in there. Errors:
  // io_error, also when the new folder is in its place and the old one, which
  // the error then names, cannot be removed.
  Status take_place(FolderExchange how = FolderExchange::if_possible);
  // Moves its files into the folder in its place, which loses those that are
  // `replaced` or have the same names, and keeps its others. Names are "a/b",
  // below the folders. The one called `last` leaves first and comes last.
  // After a failure the old files are there; if the process is killed between,
  // they are in path() + "-old".
  Status move_files(std::span<const std::string> replaced,
                    const std::string& last);

 private:
  NewFolder(std::string_view operation, const std::string& place);

  Status failed(int error_number) const;
  Status exchange(FolderExchange how);
  Status remove_old(const std::string& path) const;

  FileSubject subject_;
  std::string place_;  // canonical
  std::string shown_;  // the same as it was given
  std::string path_;   // empty: it took its place
  Unfinished unfinished_;
  Descriptor lock_{-1};
};

// Puts the folder back that was to be replaced when its process was killed, or
// removes it where the new one is there.
void recover_folder(const std::string& place);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
