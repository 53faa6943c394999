// What `headwise inspect` prints about an ONNX model: where it computes
// attention.
#pragma once

#include <string>
#include <vector>

#include "headwise/onnx/attention_nodes.h"

namespace headwise::cli {

// A table with a row per node, and the operators that keep the model from
// running.
std::string inspect_onnx_text(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run);

// One JSON object.
std::string inspect_onnx_json(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run);

}  // namespace headwise::cli
