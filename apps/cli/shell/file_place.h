// Which file a path leads to, whether it is there or not.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace headwise::cli {

struct FilePlace {
  std::string path;      // canonical, links followed
  std::string own_path;  // the same, but for a link that the last name is
  std::optional<int> descriptor{};      // of an open file, as /dev/stdout
  std::optional<struct stat> status{};  // nothing where it is not there
  int error = 0;  // why it cannot be said whether it is there

  bool is_folder() const { return status && S_ISDIR(status->st_mode); }
};

FilePlace place_of(const std::string& path);
// The same of a file that this program names itself: a link that has its name
// is replaced, as if it were not there.
FilePlace own_place_of(const std::string& path);
FilePlace place_of_descriptor(int descriptor);

// Whether two paths lead to one file that can be destroyed: not a terminal or
// /dev/null.
bool are_one_file(const FilePlace& a, const FilePlace& b);
// Whether it is where this program's standard output goes, as /dev/stdout.
bool is_standard_output(const FilePlace& place);

// 0, or the errno of what opening the file for writing would say. The folder
// must be there.
int why_not_writable(const FilePlace& place);
// The same of a folder that is made, with those that it lies in.
int why_no_folder(const std::string& folder);

}  // namespace headwise::cli
