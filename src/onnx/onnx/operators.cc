#include "onnx/operators.h"

#include <algorithm>
#include <array>

#include "onnx/contrib_operators.h"

namespace headwise::inline HEADWISE_ABI {

const std::vector<OnnxOperator>& onnx_operators() {
  using Names = std::vector<std::string_view>;
  static const Names of_extremes = {"axis", "keepdims", "select_last_index"};
  static const Names of_norms = {"axis", "epsilon", "stash_type"};
  static const Names of_reductions = {"axes", "keepdims",
                                      "noop_with_empty_axes"};
  static const std::vector<OnnxOperator> table = {
      {"Abs", 13, 1, 1, 1, {}, run_abs},
      {"Add", 13, 2, 2, 1, {}, run_add},
      {"And", 13, 2, 2, 1, {}, run_and},
      {"ArgMax", 13, 1, 1, 1, of_extremes, run_arg_max},
      {"ArgMin", 13, 1, 1, 1, of_extremes, run_arg_min},
      {"Attention",
       23,
       3,
       7,
       4,
       {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads",
        "qk_matmul_output_mode", "right_window_size", "scale", "softcap",
        "softmax_precision"},
       run_attention},
      {"Cast", 13, 1, 1, 1, {"round_mode", "saturate", "to"}, run_cast},
      {"CastLike", 15, 2, 2, 1, {"round_mode", "saturate"}, run_cast_like},
      {"Clip", 13, 1, 3, 1, {}, run_clip},
      {"Concat", 13, 1, kAnyNumber, 1, {"axis"}, run_concat},
      {"Constant",
       13,
       0,
       0,
       1,
       {"value", "value_float", "value_floats", "value_int", "value_ints"},
       run_constant},
      {"ConstantOfShape", 13, 1, 1, 1, {"value"}, run_constant_of_shape},
      {"Cos", 13, 1, 1, 1, {}, run_real_function},
      {"CumSum", 13, 2, 2, 1, {"exclusive", "reverse"}, run_cum_sum},
      {"Div", 13, 2, 2, 1, {}, run_div},
      {"Dropout", 13, 1, 3, 2, {"seed"}, run_dropout},
      {"Einsum", 13, 1, kAnyNumber, 1, {"equation"}, run_einsum},
      {"Equal", 13, 2, 2, 1, {}, run_equal},
      {"Erf", 13, 1, 1, 1, {}, run_real_function},
      {"Exp", 13, 1, 1, 1, {}, run_real_function},
      {"Expand", 13, 2, 2, 1, {}, run_expand},
      {"Flatten", 13, 1, 1, 1, {"axis"}, run_flatten},
      {"Floor", 13, 1, 1, 1, {}, run_real_function},
      {"Gather", 13, 2, 2, 1, {"axis"}, run_gather},
      {"Gelu", 20, 1, 1, 1, {"approximate"}, run_gelu},
      {"Gemm", 13, 2, 3, 1, {"alpha", "beta", "transA", "transB"}, run_gemm},
      {"Greater", 13, 2, 2, 1, {}, run_greater},
      {"GreaterOrEqual", 13, 2, 2, 1, {}, run_greater_or_equal},
      {"Identity", 13, 1, 1, 1, {}, run_identity},
      {"IsNaN", 13, 1, 1, 1, {}, run_is_nan},
      // ONNX Runtime has had it, and its optimiser writes it, in older opsets.
      {"LayerNormalization", 13, 2, 3, 3, of_norms, run_layer_normalization},
      {"Less", 13, 2, 2, 1, {}, run_less},
      {"LessOrEqual", 13, 2, 2, 1, {}, run_less_or_equal},
      {"Log", 13, 1, 1, 1, {}, run_real_function},
      {"LogSoftmax", 13, 1, 1, 1, {"axis"}, run_log_softmax},
      {"MatMul", 13, 2, 2, 1, {}, run_matmul},
      {"Max", 13, 1, kAnyNumber, 1, {}, run_max},
      {"Min", 13, 1, kAnyNumber, 1, {}, run_min},
      {"Mod", 13, 2, 2, 1, {"fmod"}, run_mod},
      {"Mul", 13, 2, 2, 1, {}, run_mul},
      {"Neg", 13, 1, 1, 1, {}, run_neg},
      {"Not", 13, 1, 1, 1, {}, run_not},
      {"Or", 13, 2, 2, 1, {}, run_or},
      {"Pad", 13, 2, 4, 1, {"mode"}, run_pad},
      {"Pow", 13, 2, 2, 1, {}, run_pow},
      {"RMSNormalization", 23, 2, 2, 1, of_norms, run_rms_normalization},
      {"Range", 13, 3, 3, 1, {"stash_type"}, run_range},
      {"Reciprocal", 13, 1, 1, 1, {}, run_real_function},
      {"ReduceMax", 13, 1, 2, 1, of_reductions, run_reduce_max},
      {"ReduceMean", 13, 1, 2, 1, of_reductions, run_reduce_mean},
      {"ReduceMin", 13, 1, 2, 1, of_reductions, run_reduce_min},
      {"ReduceSum", 13, 1, 2, 1, of_reductions, run_reduce_sum},
      {"Relu", 13, 1, 1, 1, {}, run_relu},
      {"Reshape", 13, 2, 2, 1, {"allowzero"}, run_reshape},
      {"RotaryEmbedding",
       23,
       3,
       4,
       1,
       {"interleaved", "num_heads", "rotary_embedding_dim"},
       run_rotary_embedding},
      {"ScatterND", 13, 3, 3, 1, {"reduction"}, run_scatter_nd},
      {"Shape", 13, 1, 1, 1, {"end", "start"}, run_shape},
      {"Sigmoid", 13, 1, 1, 1, {}, run_real_function},
      // Written by ONNX Runtime's optimiser, which has it in this domain.
      {"SimplifiedLayerNormalization", 13, 2, 2, 1, of_norms,
       run_rms_normalization},
      {"Sin", 13, 1, 1, 1, {}, run_real_function},
      {"Size", 13, 1, 1, 1, {}, run_size},
      {"Slice", 13, 3, 5, 1, {}, run_slice},
      {"Softmax", 13, 1, 1, 1, {"axis"}, run_softmax},
      {"Split", 13, 1, 2, kAnyNumber, {"axis", "num_outputs"}, run_split},
      {"Sqrt", 13, 1, 1, 1, {}, run_real_function},
      {"Squeeze", 13, 1, 2, 1, {}, run_squeeze},
      {"Sub", 13, 2, 2, 1, {}, run_sub},
      {"Sum", 13, 1, kAnyNumber, 1, {}, run_sum},
      {"Tanh", 13, 1, 1, 1, {}, run_real_function},
      {"TensorScatter", 24, 2, 3, 1, {"axis", "mode"}, run_tensor_scatter},
      {"Tile", 13, 2, 2, 1, {}, run_tile},
      {"TopK", 13, 2, 2, 2, {"axis", "largest", "sorted"}, run_top_k},
      {"Transpose", 13, 1, 1, 1, {"perm"}, run_transpose},
      {"Trilu", 14, 1, 2, 1, {"upper"}, run_trilu},
      {"Unsqueeze", 13, 2, 2, 1, {}, run_unsqueeze},
      {"Where", 13, 3, 3, 1, {}, run_where},
      {"Xor", 13, 2, 2, 1, {}, run_xor},
  };
  return table;
}

namespace {

struct LaterAttribute {
  std::string_view op;
  std::string_view name;
  std::int64_t since;
};

// Those that an operator got after the opset of the table above.
constexpr std::array kLaterAttributes = {
    LaterAttribute{"Cast", "round_mode", 24},
    LaterAttribute{"Cast", "saturate", 19},
    LaterAttribute{"CastLike", "round_mode", 24},
    LaterAttribute{"CastLike", "saturate", 19},
    LaterAttribute{"Range", "stash_type", 27},
    LaterAttribute{"ReduceMax", "noop_with_empty_axes", 18},
    LaterAttribute{"ReduceMean", "noop_with_empty_axes", 18},
    LaterAttribute{"ReduceMin", "noop_with_empty_axes", 18},
    LaterAttribute{"Reshape", "allowzero", 14},
    LaterAttribute{"ScatterND", "reduction", 16},
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

bool is_attention(const OnnxNode& node) {
  return node.op.ends_with("Attention") && find_operator(node) != nullptr;
}

const OnnxOperator* find_operator(const OnnxNode& node) {
  const bool contrib = node.domain == kContribDomain;
  if (!contrib && !is_standard_domain(node.domain)) {
    return nullptr;
  }
  const std::span<const OnnxOperator> known =
      contrib ? contrib_operators() : std::span(onnx_operators());
  const auto found = std::ranges::find(known, node.op, &OnnxOperator::name);
  return found == known.end() ? nullptr : &*found;
}

}  // namespace headwise::inline HEADWISE_ABI
