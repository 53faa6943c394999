// Folders of files that belong together, and the names in them that a file
// gives. (std::filesystem ends the program where memory does.)
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/paths.h"  // IWYU pragma: export

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Whether `name` can only be something of the folder it is looked for in: no
// path, neither `.` nor `..`, no control characters.
bool is_plain_name(std::string_view name);

// Whether a folder can be reached so. Errors begin with `operation: path`.
Status check_folder(std::string_view operation, const std::string& path);
// The same of a path that a file names: bad_data for a symbolic link to one.
Status check_folder_named_by_file(std::string_view operation,
                                  const std::string& path);

// Whether the system said that there is nothing. Any other error (EIO, EACCES)
// leaves it open.
bool means_absent(int error_number);
// What a name in a folder is itself: a link is another.
enum class EntryKind { nothing, file, folder, other };
Result<EntryKind> kind_of_entry(std::string_view operation,
                                const std::string& path);
// The same of what a link leads to.
Result<EntryKind> kind_behind_links(std::string_view operation,
                                    const std::string& path);
// The entries of a folder, without "." and "..".
Result<std::set<std::string>> names_in_folder(std::string_view operation,
                                              const std::string& path);
// Whether there is one, or a link to one.
Result<bool> is_regular_file(std::string_view operation,
                             const std::string& path);
// Refuses a file of a folder that is a pipe or a device: one would wait for a
// writer, the other may have no end. Errors: bad_data.
Status check_regular_file(std::string_view operation, const std::string& path);
// The folder and those that it lies in, where they are not there.
Status make_folder(std::string_view operation, const std::string& path);
// Whether both are there and one, whatever way leads to them.
Result<bool> are_one_folder(std::string_view operation, const std::string& a,
                            const std::string& b);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

// Whether something is mounted there: such a folder cannot be renamed.
bool is_mount_point(const std::string& path);
// Saves the folder of `path`: a name that a file has been given is safe once
// its folder is. 0 or an errno of the disk. A folder that may not be opened, or
// a file system that saves no folders, is no error.
int sync_folder_of(const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
