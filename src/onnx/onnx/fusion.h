// Attention that a graph spells out:
//
//   MatMul(Q, K^T) -> Mul, Div, Tanh, Add, Where -> Softmax -> MatMul(_, V)
//
// with Where(IsNaN(weights), 0, weights) behind the Softmax, if it is there,
// and anywhere between the products nodes that change no number: Identity, Cast
// to the type that they have, Dropout, Reshape, Flatten. A product may be
// FusedMatMul.
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
#include "onnx/operand_turn.h"

namespace headwise::inline HEADWISE_ABI {

struct OnnxGraph;
struct OnnxNode;

// One node between the products; two that replace NaN are one step.
struct FusionStep {
  enum class Kind {
    multiply,
    divide,
    tanh,
    add,
    fill_where_true,
    fill_where_false,
    softmax,
    replace_nan,
    identity,
    cast,
    dropout,
    reshape,
    flatten
  };
  Kind kind = Kind::identity;
  // The factor, the mask, the condition, what replaces NaN, whether Dropout
  // trains ("": not), the shape.
  std::string operand{};
  // What a Where puts in; of Reshape the scores whose shape it gives back, if
  // it does not have an operand.
  std::string fill{};
  std::int64_t number = 0;  // an axis, a type of ONNX, or allowzero
  std::string result{};
};

struct FusionOperand {
  std::string name{};
  OperandTurn turn{};
};

struct OnnxFusion {
  std::vector<std::size_t> nodes{};  // ascending; the last makes the output
  FusionOperand query{};             // (B, H, Lq, D), or without B or H
  FusionOperand transposed_key{};    // (B, H, D, Lkv)
  FusionOperand value{};             // (B, H, Lkv, Dv)
  double factor = 1;                 // of the first product
  std::string scores{};              // its result
  std::vector<FusionStep> steps{};   // in the order in which they run
};

// Whether a node is a MatMul or FusedMatMul, and its operands.
bool is_product(const OnnxNode& node);
FusionOperand operand_of(const OnnxNode& product, std::size_t input);

// Every node is in one of them at most.
std::vector<OnnxFusion> find_fusions(const OnnxGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
