// The functions of a GatedModel, written in Python. They are called with the
// interpreter lock; what they raise reaches the caller. The gates are NumPy
// arrays of their own. Errors: TypeError and ValueError, which name the
// function, for results of other types and shapes.
#pragma once

#include <nanobind/nanobind.h>

#include "headwise/prune/importance.h"

namespace headwise::python {

namespace nb = nanobind;

// losses(begin, end, gates) -> (examples)
decltype(GatedModel::losses) losses_function(nb::handle function);
// gradients(begin, end, gates) -> for each layer, (examples, heads)
decltype(GatedModel::gradients) gradients_function(nb::handle function);
// means(begin, end, gates) -> (entropy, largest), each for each layer
// (examples, heads)
decltype(GatedModel::means) means_function(nb::handle function);

}  // namespace headwise::python
