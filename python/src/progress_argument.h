// An argument that is a function of (done, total).
#pragma once

#include <nanobind/nanobind.h>

#include "array_argument.h"
#include "headwise/run/reports.h"

namespace headwise::python {

// May be called by any thread, without the interpreter lock; valid as long as
// the function. What the function raises reaches the caller as an exception.
// Errors: TypeError for what cannot be called.
Progress progress_argument(nb::handle function, ArgumentName name);

}  // namespace headwise::python
