// Shows a file in the browser of whoever is at this machine.
#pragma once

#include <string>

#include "outcome.h"

namespace headwise::cli {

// By xdg-open, which knows the user's choice. A machine without it, or without
// a display, is a failure that says so.
Outcome open_page(const std::string& path);

}  // namespace headwise::cli
