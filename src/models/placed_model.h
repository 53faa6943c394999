// A model's folder that was written next to the old one takes its place. Errors
// begin with `operation`: io_error.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "interop/new_folder.h"
#include "models/model_folder.h"

namespace headwise::inline HEADWISE_ABI {

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to);

struct Placement {
  const FolderEntries& old;           // what the folder holds
  std::string config;                 // "config.json", perhaps in a folder
  std::span<const std::string> keep;  // names of files that stay
};

// Replaces `folder` as a whole. If it holds foreign files, or cannot be
// replaced because something is mounted there, they stay, and the new files
// take the places of the old ones (NewFolder::move_files()). Of `keep`, names
// that are not there are passed over, and those that the new model has written.
// Errors: also invalid_argument for a name in `keep` that is a path.
Status put_in_place(std::string_view operation, NewFolder& fresh,
                    const std::string& folder, const Placement& placement);

}  // namespace headwise::inline HEADWISE_ABI
