#include "onnx/operators.h"

#include <algorithm>
#include <array>

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
      {"Add", 13, 2, 2, 1, {}, run_add},
      {"Cast", 13, 1, 1, 1, {"round_mode", "saturate", "to"}, run_cast},
      {"Concat", 13, 1, kAnyNumber, 1, {"axis"}, run_concat},
      {"Constant",
       13,
       0,
       0,
       1,
       {"value", "value_float", "value_floats", "value_int", "value_ints"},
       run_constant},
      {"Div", 13, 2, 2, 1, {}, run_div},
      {"Erf", 13, 1, 1, 1, {}, run_erf},
      {"Expand", 13, 2, 2, 1, {}, run_expand},
      {"Gather", 13, 2, 2, 1, {"axis"}, run_gather},
      {"Gelu", 20, 1, 1, 1, {"approximate"}, run_gelu},
      {"Gemm", 13, 2, 3, 1, {"alpha", "beta", "transA", "transB"}, run_gemm},
      {"Identity", 13, 1, 1, 1, {}, run_identity},
      {"LayerNormalization",
       17,
       2,
       3,
       3,
       {"axis", "epsilon", "stash_type"},
       run_layer_normalization},
      {"MatMul", 13, 2, 2, 1, {}, run_matmul},
      {"Mul", 13, 2, 2, 1, {}, run_mul},
      {"Neg", 13, 1, 1, 1, {}, run_neg},
      {"Pow", 13, 2, 2, 1, {}, run_pow},
      {"RMSNormalization",
       23,
       2,
       2,
       1,
       {"axis", "epsilon", "stash_type"},
       run_rms_normalization},
      {"Reshape", 13, 2, 2, 1, {"allowzero"}, run_reshape},
      {"RotaryEmbedding",
       23,
       3,
       4,
       1,
       {"interleaved", "num_heads", "rotary_embedding_dim"},
       run_rotary_embedding},
      {"Shape", 13, 1, 1, 1, {"end", "start"}, run_shape},
      {"Slice", 13, 3, 5, 1, {}, run_slice},
      {"Softmax", 13, 1, 1, 1, {"axis"}, run_softmax},
      {"Split", 13, 1, 2, kAnyNumber, {"axis", "num_outputs"}, run_split},
      {"Sqrt", 13, 1, 1, 1, {}, run_sqrt},
      {"Squeeze", 13, 1, 2, 1, {}, run_squeeze},
      {"Sub", 13, 2, 2, 1, {}, run_sub},
      {"Tanh", 13, 1, 1, 1, {}, run_tanh},
      {"TensorScatter", 24, 2, 3, 1, {"axis", "mode"}, run_tensor_scatter},
      {"Transpose", 13, 1, 1, 1, {"perm"}, run_transpose},
      {"Unsqueeze", 13, 2, 2, 1, {}, run_unsqueeze},
      {"Where", 13, 3, 3, 1, {}, run_where},
  };
  return table;
}

struct LaterAttribute {
  std::string_view op;
  std::string_view name;
  std::int64_t since;
};

// Those that an operator got after the opset of the table above.
constexpr std::array kLaterAttributes = {
    LaterAttribute{"Cast", "round_mode", 24},
    LaterAttribute{"Cast", "saturate", 19},
    LaterAttribute{"Reshape", "allowzero", 14},
    LaterAttribute{"Shape", "end", 15},
    LaterAttribute{"Shape", "start", 15},
    LaterAttribute{"Split", "num_outputs", 18},
};

}  // namespace

std::int64_t first_opset_of(const OnnxOperator& known,
                            std::string_view attribute) {
  const auto* const later =
      std::ranges::find_if(kLaterAttributes, [&](const LaterAttribute& each) {
        return each.op == known.name && each.name == attribute;
      });
  return later == kLaterAttributes.end() ? known.since : later->since;
}

const OnnxOperator* find_operator(const OnnxNode& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") {
    return nullptr;
  }
  const auto found =
      std::ranges::find(operators(), node.op, &OnnxOperator::name);
  return found == operators().end() ? nullptr : &*found;
}

}  // namespace headwise::inline HEADWISE_ABI
