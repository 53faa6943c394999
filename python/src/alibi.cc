#include "headwise/steps/alibi.h"

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "error.h"
#include "new_array.h"
#include "number_arguments.h"

namespace headwise::python {

void bind_alibi(nb::module_& module) {
  module.def(
      "alibi_slopes",
      [](nb::handle num_heads) {
        return NewArray(value_of(alibi_slopes(unsigned_integer(
                            num_heads, {"alibi_slopes", "num_heads"}))))
            .object();
      },
      nb::arg("num_heads"),
      nb::sig("def alibi_slopes(num_heads: int) -> NDArray[numpy.float32]"),
      R"(The slopes of the paper, for alibi=: a NumPy array (num_heads) of
float32. Errors: ValueError for 0 heads.

    >>> headwise.alibi_slopes(4)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625], dtype=float32))");
}

}  // namespace headwise::python
