// What ViewPage.set_changes() takes: how heads of two runs differ.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "bindings.h"
#include "headwise/inspect/view_page.h"

namespace headwise::python {

// A list of dicts with head, other, match, similarity and differences. Errors:
// TypeError, ValueError.
std::vector<ViewedChange> viewed_changes(nb::handle changes);

}  // namespace headwise::python
