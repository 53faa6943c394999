// The inputs of an attention node, in the form attention() takes. Running
//
//   attention(node.query(), node.key(), node.value(), outputs, node.options())
//
// shows what happens inside a model, such as each head's attention weights.
// They equal the node's; for types other than float32 up to rounding: the node
// rounds after each step (docs/onnx.md), attention() computes in float32.
//
// Example:
//   OnnxModel model = OnnxModel::read("layer.onnx").value();
//   std::vector<std::size_t> first = {0};
//   std::vector<OnnxAttention> seen = model.attention(inputs, first).value();
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "headwise/attention/spec.h"
#include "headwise/base/hidden.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class OnnxAttention {
 public:
  // In float32. All views look into this object.
  TensorView<const float, 4> query() const;  // (B, Lq, Hq, D)
  TensorView<const float, 4> key() const;    // (B, Lkv, Hkv, D), the past first
  TensorView<const float, 4> value() const;  // (B, Lkv, Hkv, Dv)

  // Mask, bias, scale, softcap and the positions of the queries.
  AttentionOptions options() const;
  // Whether two nodes have equal options. Their tensors may differ.
  bool same_options(const OnnxAttention& other) const;
  // Whether queries have positions among the keys: by a causal mask, a window,
  // past keys or nonpad_kv_seqlen.
  bool relates_positions() const;

  // For headwise itself.
  struct HEADWISE_HIDDEN Parts;
  explicit OnnxAttention(Hidden<Parts> parts) : parts_(std::move(parts)) {}

 private:
  Hidden<Parts> parts_;
};

// Where a model computes attention, as far as the file shows: heads, sizes,
// scale.
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
