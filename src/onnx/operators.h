// The operators that headwise runs. operators.cc has the table; each family is
// a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "onnx/graph.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

// The operator sets of models that headwise reads.
inline constexpr std::int64_t kFirstOpset = 13;
inline constexpr std::int64_t kLastOpset = 28;
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

// "opset 13 to 28"
inline Message opsets_since(std::int64_t first) {
  return message("opset {} to {}", first, kLastOpset);
}

struct OnnxOperator {
  std::string_view name;
  std::int64_t since;  // the opset that has it in the form that is run
  // The first `needed` inputs must be given, at most `inputs` may.
  std::size_t needed;
  std::size_t inputs;
  std::size_t outputs;
  std::vector<std::string_view> attributes;
  Result<Outputs> (*run)(const NodeCall&);
};

// All of them.
const std::vector<OnnxOperator>& onnx_operators();

// Null for one that headwise does not run.
const OnnxOperator* find_operator(const OnnxNode& node);

// Whether headwise runs it as attention.
bool is_attention(const OnnxNode& node);

// The opset from which on an operator has an attribute.
std::int64_t first_opset_of(const OnnxOperator& known,
                            std::string_view attribute);

// attention.cc, rotary_embedding.cc, tensor_scatter.cc, scatter_nd.cc,
// matmul.cc, einsum.cc, cast.cc
Result<Outputs> run_scatter_nd(const NodeCall& node);
Result<Outputs> run_einsum(const NodeCall& node);
Result<Outputs> run_attention(const NodeCall& node);
Result<Outputs> run_rotary_embedding(const NodeCall& node);
Result<Outputs> run_tensor_scatter(const NodeCall& node);
Result<Outputs> run_matmul(const NodeCall& node);
Result<Outputs> run_gemm(const NodeCall& node);
Result<Outputs> run_cast(const NodeCall& node);
Result<Outputs> run_cast_like(const NodeCall& node);

// normalization.cc
Result<Outputs> run_layer_normalization(const NodeCall& node);
Result<Outputs> run_rms_normalization(const NodeCall& node);
Result<Outputs> run_log_softmax(const NodeCall& node);
Result<Outputs> run_softmax(const NodeCall& node);

// elementwise.cc
Result<Outputs> run_abs(const NodeCall& node);
Result<Outputs> run_clip(const NodeCall& node);
Result<Outputs> run_real_function(const NodeCall& node);
Result<Outputs> run_relu(const NodeCall& node);
Result<Outputs> run_add(const NodeCall& node);
Result<Outputs> run_div(const NodeCall& node);
Result<Outputs> run_gelu(const NodeCall& node);
Result<Outputs> run_mod(const NodeCall& node);
Result<Outputs> run_mul(const NodeCall& node);
Result<Outputs> run_neg(const NodeCall& node);
Result<Outputs> run_pow(const NodeCall& node);
Result<Outputs> run_sub(const NodeCall& node);
Result<Outputs> run_where(const NodeCall& node);

// logic.cc
Result<Outputs> run_and(const NodeCall& node);
Result<Outputs> run_equal(const NodeCall& node);
Result<Outputs> run_greater(const NodeCall& node);
Result<Outputs> run_greater_or_equal(const NodeCall& node);
Result<Outputs> run_is_nan(const NodeCall& node);
Result<Outputs> run_less(const NodeCall& node);
Result<Outputs> run_less_or_equal(const NodeCall& node);
Result<Outputs> run_not(const NodeCall& node);
Result<Outputs> run_or(const NodeCall& node);
Result<Outputs> run_xor(const NodeCall& node);

// variadic.cc, reduce.cc, order.cc
Result<Outputs> run_arg_max(const NodeCall& node);
Result<Outputs> run_arg_min(const NodeCall& node);
Result<Outputs> run_cum_sum(const NodeCall& node);
Result<Outputs> run_max(const NodeCall& node);
Result<Outputs> run_min(const NodeCall& node);
Result<Outputs> run_sum(const NodeCall& node);
Result<Outputs> run_reduce_max(const NodeCall& node);
Result<Outputs> run_reduce_mean(const NodeCall& node);
Result<Outputs> run_reduce_min(const NodeCall& node);
Result<Outputs> run_reduce_sum(const NodeCall& node);
Result<Outputs> run_top_k(const NodeCall& node);

// reshape.cc
Result<Outputs> run_dropout(const NodeCall& node);
Result<Outputs> run_expand(const NodeCall& node);
Result<Outputs> run_flatten(const NodeCall& node);
Result<Outputs> run_identity(const NodeCall& node);
Result<Outputs> run_reshape(const NodeCall& node);
Result<Outputs> run_squeeze(const NodeCall& node);
Result<Outputs> run_tile(const NodeCall& node);
Result<Outputs> run_transpose(const NodeCall& node);
Result<Outputs> run_unsqueeze(const NodeCall& node);

// slices.cc
Result<Outputs> run_concat(const NodeCall& node);
Result<Outputs> run_gather(const NodeCall& node);
Result<Outputs> run_slice(const NodeCall& node);
Result<Outputs> run_split(const NodeCall& node);

// constant.cc, range.cc, pad.cc, trilu.cc
Result<Outputs> run_constant(const NodeCall& node);
Result<Outputs> run_constant_of_shape(const NodeCall& node);
Result<Outputs> run_pad(const NodeCall& node);
Result<Outputs> run_range(const NodeCall& node);
Result<Outputs> run_shape(const NodeCall& node);
Result<Outputs> run_size(const NodeCall& node);
Result<Outputs> run_trilu(const NodeCall& node);

}  // namespace headwise::inline HEADWISE_ABI
