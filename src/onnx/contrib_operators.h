// ONNX Runtime's operators of attention, domain com.microsoft. Their files are
// named after them.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "onnx/node_call.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kContribDomain = "com.microsoft";

std::span<const OnnxOperator> contrib_operators();

Result<Outputs> run_contrib_attention(const NodeCall& node);
Result<Outputs> run_group_query_attention(const NodeCall& node);
Result<Outputs> run_multi_head_attention(const NodeCall& node);

}  // namespace headwise::inline HEADWISE_ABI
