// The operators that headwise runs. operators.cc has the table; each family is
// a file.
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
inline constexpr std::int64_t kLastOpset = 25;
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

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

// Null for one that headwise does not run.
const OnnxOperator* find_operator(const OnnxNode& node);

// attention.cc
Result<Outputs> run_attention(const NodeCall& node);

}  // namespace headwise::inline HEADWISE_ABI
