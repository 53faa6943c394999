// Files and streams that results go to.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "outcome.h"

namespace headwise::cli {

// Writes and flushes; a full disk or a closed stream is a failure, a reader
// that went away is none.
Outcome print(std::ostream& out, std::string_view text);

// A message for a terminal: control characters, which file names and files may
// hold, as \x1b, so that it stays one line and moves no cursor.
std::string one_line(std::string_view message);

}  // namespace headwise::cli
