// A folder through which the processes of a job exchange files.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::cli {

// Makes the folder, and checks that every process sees a file that rank 0 wrote
// there; all processes call it. One that does not see it looks again, for at
// most half of the deadline or a minute. Errors name the option and the process
// that does not see it.
Status share_folder(Communicator& group, std::string_view option,
                    const std::string& folder);

}  // namespace headwise::cli
