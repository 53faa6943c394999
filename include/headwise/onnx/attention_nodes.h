// Where a model computes attention, as far as the file shows: heads, sizes,
// scale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct OnnxAttentionNode {
  std::string name{};  // of the node; "#3" if it has none
  // How it was found: the operator, "com.microsoft MultiHeadAttention" if it is
  // not a standard one, or the operators that compute attention together:
  // "MatMul-Softmax-MatMul". The node is then the last of them.
  std::string pattern{};
  // Empty if known only at run time.
  std::optional<std::size_t> query_heads{};
  std::optional<std::size_t> key_heads{};
  std::optional<std::size_t> head_size{};   // of queries and keys
  std::optional<std::size_t> value_size{};  // of a head of the values
  std::optional<double> scale{};            // factor on q.k
  bool causal = false;                      // by an attribute, not by a tensor
  bool mask = false;  // reads a mask, a bias on the scores or lengths
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
