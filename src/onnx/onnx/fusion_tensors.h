// A fusion (fusion.h) while the model runs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/attend.h"
#include "onnx/fusion.h"

namespace headwise::inline HEADWISE_ABI {

// The tensors of a fusion as attend() takes them.
struct FusionTensors {
  ReadyAttention ready;  // points to the arrays below
  Array query;           // only if the graph turns it
  Array key;
  Array value;
  std::vector<std::size_t> output_shape;
};

using ValueOf = std::function<const Array&(const std::string&)>;

// Null if the nodes must run one by one. Errors: out_of_memory.
Result<std::unique_ptr<FusionTensors>> fusion_tensors(const OnnxFusion& fusion,
                                                      const ValueOf& value_of);

}  // namespace headwise::inline HEADWISE_ABI
