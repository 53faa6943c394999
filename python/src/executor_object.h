// An argument that is a headwise.Executor.
#pragma once

#include <nanobind/nanobind.h>

#include "array_argument.h"
#include "headwise/run/executor.h"

namespace headwise::python {

// Valid as long as the object. Errors: TypeError for anything else.
const Executor& executor_argument(nb::handle value, ArgumentName name);

}  // namespace headwise::python
