// An argument that is the path of a file or a folder.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "array_argument.h"

namespace headwise::python {

// A str, bytes or os.PathLike, as the system takes it. Errors: TypeError for
// anything else, ValueError for a NUL character.
std::string path_argument(nb::handle value, ArgumentName name);

}  // namespace headwise::python
