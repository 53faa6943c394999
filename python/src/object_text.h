// repr() of objects: Name(attribute=value, ...). An array is its type and
// shape.
#pragma once

#include <nanobind/nanobind.h>

#include "error.h"

namespace headwise::python {

// Of a value: an array as its type and shape, the first items of a list.
nb::str value_text(nb::handle value);
// Of these entries, in their order.
nb::str object_text(nb::handle self, const nb::dict& entries);
// Of all properties of its class but those that are None.
nb::str text_of_properties(nb::handle self);

}  // namespace headwise::python
