// Files and streams that results go to.
#pragma once

#include <ostream>
#include <string_view>

#include "outcome.h"

namespace headwise::cli {

// Writes and flushes; a full disk or a closed stream is a failure, a reader
// that went away is none.
Outcome print(std::ostream& out, std::string_view text);

}  // namespace headwise::cli
