// The operators that headwise runs: each family is a file, with its rows of the
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

// All of them, by name.
const std::vector<OnnxOperator>& onnx_operators();

// Null for one that headwise does not run.
const OnnxOperator* find_operator(const OnnxNode& node);

// Whether headwise runs it as attention.
bool is_attention(const OnnxNode& node);

// The opset from which on an operator has an attribute.
std::int64_t first_opset_of(const OnnxOperator& known,
                            std::string_view attribute);

// In files named after them.
Result<Outputs> run_attention(const NodeCall& node);
Result<Outputs> run_einsum(const NodeCall& node);
Result<Outputs> run_pad(const NodeCall& node);
Result<Outputs> run_range(const NodeCall& node);
Result<Outputs> run_rotary_embedding(const NodeCall& node);
Result<Outputs> run_scatter_nd(const NodeCall& node);
Result<Outputs> run_tensor_scatter(const NodeCall& node);
Result<Outputs> run_trilu(const NodeCall& node);
// matmul.cc
Result<Outputs> run_gemm(const NodeCall& node);
Result<Outputs> run_matmul(const NodeCall& node);

// The rows of a family's operators, in the file named after it.
std::vector<OnnxOperator> cast_operators();
std::vector<OnnxOperator> constant_operators();
std::vector<OnnxOperator> elementwise_operators();
std::vector<OnnxOperator> logic_operators();
std::vector<OnnxOperator> normalization_operators();
std::vector<OnnxOperator> order_operators();
std::vector<OnnxOperator> reduce_operators();
std::vector<OnnxOperator> reshape_operators();
std::vector<OnnxOperator> slices_operators();
std::vector<OnnxOperator> variadic_operators();

}  // namespace headwise::inline HEADWISE_ABI
