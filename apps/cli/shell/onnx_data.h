// The test data of a model: its inputs and, if given, the expected outputs.
//
// A folder has input_0.pb or input_0.npy for the first input of the graph, and
// so on, output_0.pb or .npy likewise; tensors without such a file are looked
// up in the folder's .npz files, by that name or by the name in the graph. The
// path may also be that of a .npz file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/onnx/model.h"
#include "option_row.h"

namespace headwise::cli {

// --memory-limit, in MiB; 0: the usual one.
OptionRow memory_limit_option(std::size_t& mebibytes);
// In bytes, for OnnxModel.
std::optional<std::size_t> memory_limit_of(std::size_t mebibytes);

struct OnnxData {
  std::vector<Array> inputs;
  std::vector<std::optional<Array>> outputs;

  // float32 inputs and outputs in .npy and .npz files are rounded to the 16-bit
  // type that the model declares, because these formats have no bfloat16.
  static Result<OnnxData> read(const std::string& path, const OnnxModel& model);
};

}  // namespace headwise::cli
