#include "onnx/operators.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {
namespace {

const std::vector<OnnxOperator>& operators() {
  static const std::vector<OnnxOperator> table = {
      {"Attention",
       23,
       3,
       7,
       4,
       {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads",
        "qk_matmul_output_mode", "right_window_size", "scale", "softcap",
        "softmax_precision"},
       run_attention},
  };
  return table;
}

}  // namespace

const OnnxOperator* find_operator(const OnnxNode& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") {
    return nullptr;
  }
  const auto found =
      std::ranges::find(operators(), node.op, &OnnxOperator::name);
  return found == operators().end() ? nullptr : &*found;
}

}  // namespace headwise::inline HEADWISE_ABI
