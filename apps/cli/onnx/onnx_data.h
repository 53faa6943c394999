// The test data of a model: its inputs and, where they are there, the outputs
// that it should give.
//
// A folder has input_0.pb or input_0.npy for the first input of the graph, and
// so on, output_0.pb or .npy likewise; what has no such file is looked for in
// the folder's .npz files, by that name or by the name in the graph. A .npz
// file may also be given alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/onnx/model.h"

namespace headwise::cli {

struct OnnxData {
  std::vector<Array> inputs;
  std::vector<std::optional<Array>> outputs;

  bool has_outputs() const;

  // Inputs that are float32 in a .npy or .npz file are rounded to the 16-bit
  // type that the model declares: these formats have no bfloat16. Outputs, too.
  static Result<OnnxData> read(const std::string& path, const OnnxModel& model);
};

}  // namespace headwise::cli
