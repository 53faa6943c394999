// ONNX Runtime's operators of attention, and those that its optimiser writes
// around them, domain com.microsoft.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "onnx/graph.h"
#include "onnx/node_call.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kContribDomain = "com.microsoft";

std::span<const OnnxOperator> contrib_operators();

// In files named after them.
Result<Outputs> run_contrib_attention(const NodeCall& node);
Result<Outputs> run_group_query_attention(const NodeCall& node);
Result<Outputs> run_multi_head_attention(const NodeCall& node);

// matmul.cc
Result<Outputs> run_fused_matmul(const NodeCall& node);

// contrib_layer.cc
Result<Outputs> run_bias_gelu(const NodeCall& node);
Result<Outputs> run_fast_gelu(const NodeCall& node);
Result<Outputs> run_quick_gelu(const NodeCall& node);
Result<Outputs> run_skip_layer_normalization(const NodeCall& node);
Result<Outputs> run_skip_rms_normalization(const NodeCall& node);

}  // namespace headwise::inline HEADWISE_ABI
