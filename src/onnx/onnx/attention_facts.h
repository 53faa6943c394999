// What the file of a model says about its attention (onnx/attention.h).
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/onnx/attention.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

// The numbers of the nodes that compute attention, or are the last of those
// that do so together, in the order of the graph.
std::vector<std::size_t> attention_numbers(const OnnxGraph& graph);

// Facts about each attention node.
std::vector<OnnxAttentionNode> find_attention_nodes(const OnnxGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
