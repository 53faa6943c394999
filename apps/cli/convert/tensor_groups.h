// The tensors of a file as a reader takes them in: those that are the same in
// every layer but for its number stand once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/interop/param_inspection.h"

namespace headwise::cli {

// encoder.layer.0.output.dense.bias .. of layer 5 are one row,
// "output.dense.bias", of the group before "encoder.layer." and numbers 0 to 5.
struct TensorRow {
  std::string name;  // behind the number, with the mark before it: ".output."
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  std::size_t bytes = 0;  // of one
};

struct TensorGroup {
  std::string before;                // the names up to the number
  std::vector<std::size_t> numbers;  // empty: whole names, no number
  std::vector<TensorRow> rows;
};

// In the order of the names; a group stands where its first tensor does. The
// first number between two marks ('.' or '/') or at an end counts. What is
// there of one number only keeps its whole name.
std::vector<TensorGroup> group_tensors(const ParamEntries& entries);

}  // namespace headwise::cli
