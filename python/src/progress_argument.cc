#include "progress_argument.h"

#include <string>

#include "error.h"

namespace headwise::python {

Progress progress_argument(nb::handle function, ArgumentName name) {
  if (PyCallable_Check(function.ptr()) == 0) {
    raise_kind(function, name, "a function of (done, total)");
  }
  return [function](std::size_t done, std::size_t total) {
    const nb::gil_scoped_acquire acquired;
    function(done, total);
  };
}

}  // namespace headwise::python
