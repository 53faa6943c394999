// Files that all processes of a job read.
#pragma once

#include <string>
#include <string_view>

#include "headwise/distribute/communicator.h"
#include "shell/outcome.h"

namespace headwise::cli {

// Whether all processes have a file with this digest; all of them call it.
// `option` names the file.
Outcome check_same_file(Communicator& group, std::string_view option,
                        const std::string& sha256);

}  // namespace headwise::cli
