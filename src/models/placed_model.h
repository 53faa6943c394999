// A model's folder that was written next to the old one takes its place. Errors
// begin with `operation`: io_error.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "interop/new_folder.h"

namespace headwise::inline HEADWISE_ABI {

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to);

// Files of the folder that is replaced which the new one has, too; names that
// are not there are passed over.
Status keep_files(std::string_view operation, const std::string& from,
                  const std::string& to, std::span<const std::string> names);

// Replaces `folder` as a whole. If it holds files that a model with the
// settings of `source` would not have, they stay, and the new files come one by
// one, `config` ("config.json") last.
Status put_in_place(std::string_view operation, NewFolder& fresh,
                    const std::string& folder, const std::string& source,
                    const std::string& config);

}  // namespace headwise::inline HEADWISE_ABI
