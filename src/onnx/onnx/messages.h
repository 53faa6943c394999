// The messages of ONNX files, converted to and from plain data. Only
// messages.cc, which reads, and write_messages.cc include protobuf.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/graph.h"
#include "onnx/written_graph.h"

namespace headwise::inline HEADWISE_ABI {

Result<OnnxGraph> read_graph(const std::string& path);
Result<Array> read_tensor_message(const std::string& path);
// Errors: unsupported, for a graph that needs 2 GiB or more; io_error.
Status write_graph(const std::string& path, const WrittenGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
