// headwise.AttentionStatistics: the statistics of a call, as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "array_argument.h"
#include "headwise/attention/statistics.h"

namespace headwise::python {

// Whether results have an axis of batches: those with the layout of the
// tensors, and those of the sequences, which differ in a ragged batch.
struct BatchAxes {
  bool tensors;
  bool sequences;
};

// Of the library that `like` is from.
nb::object statistics_object(AttentionStatistics statistics,
                             const ArrayArgument& like, BatchAxes axes);

}  // namespace headwise::python
