// The only place where an error becomes text: a line in the language of the
// run. English is that of the library, Korean is made from the same parts.
#pragma once

#include <string>

#include "headwise/base/result.h"

namespace headwise::cli {

std::string error_text(const Error& error);

}  // namespace headwise::cli
