// Shows a file in the browser of whoever is at this machine.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "shell/outcome.h"

namespace headwise::cli {

// By xdg-open, which knows the user's choice. A machine without it, or without
// a display, is a failure that says so and names the page.
Outcome open_page(const std::string& path);

// The path of a new, empty file NAME.html in the folder for temporary files,
// which nobody else can read. It is not removed: the browser reads it later.
// Errors: io_error.
Result<std::string> make_temporary_page();

}  // namespace headwise::cli
