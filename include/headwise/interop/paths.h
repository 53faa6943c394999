// Paths as the file readers and writers understand them.
//
// Only follow_links() and canonical_path() ask the file system. Nothing here is
// an error: a path that leads nowhere stays as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// "a/b/" for "a/b/c", "" for "c".
inline std::string folder_of(const std::string& path) {
  return path.substr(0, path.find_last_of('/') + 1);
}
// "a/b/c" for "a/b" and "c".
inline std::string path_in(const std::string& folder, std::string_view name) {
  return (folder + '/').append(name);
}

// The path from the root, without links, "." and "..". Where the path does not
// exist, this holds for the part that does.
std::string canonical_path(const std::string& path);
// Whether `path` is inside the folder, at any depth. Both are canonical.
inline bool lies_in(std::string_view path, std::string_view folder) {
  return folder == "/"
             ? path.size() > 1 && path.starts_with('/')
             : path.size() > folder.size() && path.starts_with(folder) &&
                   path[folder.size()] == '/';
}

struct LinkTarget {
  std::string path;  // not a link, or the path of an open file
  // The open file that the path names: 1 for "/proc/self/fd/1", which
  // /dev/stdout leads to.
  std::optional<int> descriptor{};
};

// Where a path leads if its last name is a symbolic link, or a chain of them.
// write_file_atomically() replaces this target, not the link. No value if the
// links form a cycle.
std::optional<LinkTarget> follow_links(std::string path);

// Which files of a folder reading a model, or parameters, may use.

// Whether reading a model, or parameters, from a folder may use a file of this
// name: one that ends in .json, .txt, .safetensors, .weight.npy or .bias.npy.
bool may_be_model_file(std::string_view name);

// The paths of those files, in the folder and in its direct subfolders. None if
// the folder cannot be read; the reader then reports the error.
std::vector<std::string> model_files_in(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
