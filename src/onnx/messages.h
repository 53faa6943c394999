// The messages of ONNX files, made plain data. messages.cc is the only file
// that includes protobuf; without HEADWISE_ONNX no_messages.cc takes its place.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

Result<OnnxGraph> read_graph(const std::string& path);
Result<Array> read_tensor_message(const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI
