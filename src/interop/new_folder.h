// A folder that is written whole beside its place and then takes it in one
// step: whoever looks there finds the old files or the new ones, never some of
// each.
//
//   auto fresh = NewFolder::create("write_model", "model");
//   .. write to fresh->path() + "/config.json" ..
//   Status s = fresh->take_place();
//
// Two folders change places by renameat2(RENAME_EXCHANGE). On a file system
// that cannot, the old one is moved to .headwise-old-NAME first; when the
// process is killed just then, recover_folder() moves it back.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "interop/descriptor.h"

namespace headwise::inline HEADWISE_ABI {

enum class FolderExchange { if_possible, never };

class NewFolder {
 public:
  // An empty folder beside `place`: a folder, a link to one, or nothing yet.
  // Makes the folders that it lies in. Errors: io_error; invalid_argument for a
  // path with a NUL character. They begin with `operation`.
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

  // Replaces the folder in its place, with all that is in there.
  Status take_place(FolderExchange how = FolderExchange::if_possible);
  // Moves its files into the folder in its place, which keeps its others; the
  // one called `last` ("a/b" below path()) last.
  Status move_files(const std::string& last);

 private:
  NewFolder(std::string_view operation, const std::string& place);

  Status failed(int error_number) const;
  Status exchange(FolderExchange how);
  int move_one(const std::string& name) const;

  FileSubject subject_;
  std::string place_;  // canonical
  std::string shown_;  // the same as it was given
  std::string path_;   // empty: it took its place
  Descriptor lock_{-1};
};

// Puts the folder back that was to be replaced when its process was killed, or
// removes it where the new one is there.
void recover_folder(const std::string& place);

}  // namespace headwise::inline HEADWISE_ABI
