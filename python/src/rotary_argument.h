// Rotary positions from a dict.
#pragma once

#include <nanobind/nanobind.h>

#include "array_argument.h"
#include "headwise/steps/rotary.h"

namespace headwise::python {

// {"rotary_dim": 64, "base": 10000, "layout": "halves", "scaling": {"kind":
// "yarn", "factor": 4, ...}}, with the names of RotaryConfig and of the
// scaling rules; or {"cos": ..., "sin": ..., "layout": ...} with tables
// (positions, rotary_dim / 2). Errors: TypeError; those of Rotary.
Rotary rotary_argument(nb::handle value, ArgumentName name);

// A copy of the dict without its tables, which the Rotary gives back; none for
// none.
nb::object rotary_rules(nb::handle value);
// The dict again, with the Rotary's tables where it has some.
nb::dict rotary_dict(const Rotary& rotary, nb::handle rules);

}  // namespace headwise::python
