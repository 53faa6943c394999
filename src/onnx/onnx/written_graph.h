// A graph that is written to a file, in plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/npz.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

// An extent, or the name of an open one.
using WrittenAxis = std::variant<std::size_t, std::string>;

struct WrittenPort {
  std::string name;
  DType dtype = DType::float32;
  std::vector<WrittenAxis> shape;
};

struct WrittenGraph {
  std::string name;
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes{};
  std::vector<WrittenPort> inputs{};
  std::vector<WrittenPort> outputs{};
  NamedArrays initializers{};
};

// The error about a layer that write_onnx_layer() cannot write.
Error about_layer(ErrorCode code, Message given, Message expected);
Error layer_beyond_file_limit();

}  // namespace headwise::inline HEADWISE_ABI
