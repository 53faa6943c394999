// Attention that a graph spells out:
//
//   MatMul(Q, K^T) -> Mul, Div, Add, Where -> Softmax -> MatMul(_, V)
//
// with Where(IsNaN(weights), 0, weights) behind the Softmax, if it is there.
//
// It runs as one attention where that gives the same numbers: no value inside
// is used elsewhere, all tensors are finite, and the masks hide a key wholly or
// not at all. Otherwise its nodes run one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct OnnxGraph;

// One node between the first MatMul and the Softmax.
struct FusionStep {
  enum class Kind { multiply, divide, add, fill_where_true, fill_where_false };
  Kind kind = Kind::add;
  std::string operand;  // the factor, the mask, or the condition
  std::string fill{};   // of a Where
};

struct OnnxFusion {
  std::vector<std::size_t> nodes;  // ascending; the last makes the output
  std::string query;               // (B, H, Lq, D), or without B or H
  std::string transposed_key;      // (B, H, D, Lkv)
  std::string value;               // (B, H, Lkv, Dv)
  std::vector<FusionStep> steps;   // in the order in which they run
  std::int64_t softmax_axis = -1;
  // Replaces weights that are NaN, as PyTorch's exports do behind a boolean
  // mask; "": nothing does.
  std::string nan_fill{};
};

// Every node is in one of them at most.
std::vector<OnnxFusion> find_fusions(const OnnxGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
