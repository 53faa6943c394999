#include "onnx/operators.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "onnx/contrib_operators.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

// The operators that are files of their own.
std::vector<OnnxOperator> single_operators() {
  return {
      {"Attention",
       23,
       3,
       7,
       4,
       {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads",
        "qk_matmul_output_mode", "right_window_size", "scale", "softcap",
        "softmax_precision"},
       run_attention},
      {"Einsum", 13, 1, kAnyNumber, 1, {"equation"}, run_einsum},
      {"Gemm", 13, 2, 3, 1, {"alpha", "beta", "transA", "transB"}, run_gemm},
      {"MatMul", 13, 2, 2, 1, {}, run_matmul},
      {"Pad", 13, 2, 4, 1, {"mode"}, run_pad},
      {"Range", 13, 3, 3, 1, {"stash_type"}, run_range},
      {"RotaryEmbedding",
       23,
       3,
       4,
       1,
       {"interleaved", "num_heads", "rotary_embedding_dim"},
       run_rotary_embedding},
      {"ScatterND", 13, 3, 3, 1, {"reduction"}, run_scatter_nd},
      {"TensorScatter", 24, 2, 3, 1, {"axis", "mode"}, run_tensor_scatter},
      {"Trilu", 14, 1, 2, 1, {"upper"}, run_trilu},
  };
}

std::vector<OnnxOperator> every_operator() {
  std::vector<OnnxOperator> all;
  for (const auto operators :
       {single_operators, cast_operators, constant_operators,
        elementwise_operators, logic_operators, normalization_operators,
        order_operators, reduce_operators, reshape_operators, slices_operators,
        variadic_operators}) {
    std::ranges::move(operators(), std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &OnnxOperator::name);
  return all;
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

const std::vector<OnnxOperator>& onnx_operators() {
  static const std::vector<OnnxOperator> table = every_operator();
  return table;
}

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
