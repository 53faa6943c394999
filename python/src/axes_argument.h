// The names of the axes of a dense mask or bias: ("B", "H", "Lq", "Lkv"), in
// any order; an axis that is not named is broadcast, and so is one of extent 1.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>
#include <vector>

#include "array_argument.h"
#include "headwise/steps/named_axes.h"

namespace headwise::python {

// Of an array with these extents. Not given (none): those of the scores, for
// two axes (Lq, Lkv), for four (B, H, Lq, Lkv). ValueError for any other number
// of axes, for unknown names, and for more or fewer names than axes.
std::vector<Axis> axes_of(nb::handle names,
                          std::span<const std::size_t> extents,
                          ArgumentName name);
// The names of axes; "1" is one of extent 1.
nb::tuple axis_names(std::span<const Axis> axes);

}  // namespace headwise::python
