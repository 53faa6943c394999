// What the file of a model says about its attention (attention_nodes.h).
#pragma once

#include <vector>

#include "headwise/onnx/attention_nodes.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

// In the order of the graph.
std::vector<OnnxAttentionNode> find_attention_nodes(const OnnxGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
