// A name that a file has been given is safe once its folder is.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "interop/descriptor.h"
#include "interop/folder.h"

namespace headwise::inline HEADWISE_ABI {

// 0 or an errno of the disk. A folder that may not be opened, or a file system
// that saves no folders, is no error.
inline int sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor opened(::open(folder.empty() ? "." : folder.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0 || ::fsync(opened.number()) == 0) {
    return 0;
  }
  return errno == EIO || errno == ENOSPC || errno == EDQUOT ? errno : 0;
}

}  // namespace headwise::inline HEADWISE_ABI
