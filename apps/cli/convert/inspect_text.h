// What `headwise inspect` prints.
#pragma once

#include <string>
#include <vector>

#include "headwise/interop/param_inspection.h"
#include "headwise/onnx/attention.h"

namespace headwise::cli {

// `all_tensors`: each of them on a line of its own.
std::string inspect_text(const ParamInspection& inspection, bool all_tensors);

// One JSON object.
std::string inspect_json(const ParamInspection& inspection);

// Of an ONNX model: a row per attention node, and the operators that keep the
// model from running.
std::string inspect_onnx_text(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run);
// One JSON object.
std::string inspect_onnx_json(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run);

}  // namespace headwise::cli
