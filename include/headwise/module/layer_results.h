// What a call of a multi-head attention layer takes besides its tensors, what
// it returns, and what its backward pass gives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/module/head_hooks.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/rotate_heads.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Options that only the layer takes.
struct LayerOptions {
  // (num_heads): a factor on the context of each head (steps/head_gates.h). The
  // view must outlive the call and its backward pass.
  TensorView<const float, 1> head_gates{};
  // In a layer with rotary positions: where queries and keys stand, if not at
  // their rows (steps/rotate_heads.h). The views must outlive the call and its
  // backward pass.
  HeadPositions positions{};
  // In a layer with rotary positions: these in place of its own, as where the
  // length of a sequence decides on the frequencies. They must outlive the call
  // and its backward pass.
  const Rotary* rotary = nullptr;
  // Self-attention over a cache, not in training: query, key and value are the
  // new tokens of `sequences` (B), which are appended and see what their
  // sequences hold. The mask says whether that is causal. Rotary positions are
  // those in the sequence. A result's attn_weights are (B, num_heads, Lq,
  // longest sequence). Not in a layer with added keys.
  KvCache* cache = nullptr;
  std::span<const SequenceId> sequences{};
  // Over a cache, receives the statistics of each new token in each head
  // (attention/statistics.h): (B, num_heads, L, kStatistics), in a ragged batch
  // (1, num_heads, rows, kStatistics). No view: none.
  TensorView<float, 4> statistics{};
  // Null: none. They must outlive the call and its backward pass.
  const HeadHooks* hooks = nullptr;
};

// Rank 3 with a batch, 2 without: then there is no B below. T is the type of
// query, key and value.
template <std::size_t Rank, class T = float>
struct MultiHeadAttentionResult {
  Tensor<T, Rank> output;  // (B, Lq, embed_dim)
  // As options.attn_weights says, with a column for each added key.
  Tensor<float, Rank + 1> attn_weights;
  Tensor<float, Rank> lse;           // (B, num_heads, Lq), natural log
  Tensor<float, Rank + 1> scores{};  // as options.scores says
};

namespace detail {
struct HEADWISE_HIDDEN SavedLayer;
}  // namespace detail

// What a forward pass in training keeps for its backward pass. It can be used
// for one backward pass, and be moved but not copied.
template <class T>
class MultiHeadAttentionSavedOf {
 public:
  const MultiHeadAttentionResult<3, T>& result() const { return result_; }
  // Call this after the backward pass, which needs the result.
  MultiHeadAttentionResult<3, T> take_result() && { return std::move(result_); }

 private:
  friend class MultiHeadAttention;

  MultiHeadAttentionResult<3, T> result_;
  // Null after the backward pass.
  Hidden<detail::SavedLayer> state_;
};
using MultiHeadAttentionSaved = MultiHeadAttentionSavedOf<float>;

// The gradients of what is float in every layer.
//
// Example:
//   std::map<std::string_view, std::span<const float>> by_name;
//   gradients.for_each([&](std::string_view name, std::span<const float> g) {
//     by_name[name] = g;
//   });
struct MultiHeadAttentionParamGradients {
  LinearGradients w_q;
  LinearGradients w_k;
  LinearGradients w_v;  // empty without one
  std::optional<LinearGradients> w_o{};
  // For options.bias, (B, H, Lq, Lkv) with extent 1 where it is broadcast, for
  // options.t5_bias, (buckets, num_heads), and for options.alibi and
  // options.sinks, (num_heads); empty without them.
  Tensor<float, 4> bias{};
  Tensor<float, 2> t5_bias{};
  Tensor<float, 1> alibi{};
  Tensor<float, 1> sinks{};
  Tensor<float, 2> w_score{};  // (num_heads, head_dim); empty without one
  // For LayerOptions::head_gates, per sequence: (B, num_heads). Empty without
  // them.
  Tensor<float, 2> head_gates{};
  std::optional<HeadNormGradients> q_norm{};
  std::optional<HeadNormGradients> k_norm{};
  Tensor<float, 1> bias_k{};  // as long as the parameter; empty without one
  Tensor<float, 1> bias_v{};

  // Calls `show` with the gradient of each parameter, with the names and in the
  // order of MultiHeadAttention::update(). The names are string literals.
  void for_each(
      FunctionRef<void(std::string_view name, std::span<float> gradient)> show);
  void for_each(
      FunctionRef<void(std::string_view name, std::span<const float> gradient)>
          show) const;
};

// And those of the inputs, which have their type.
template <class T>
struct MultiHeadAttentionGradientsOf : MultiHeadAttentionParamGradients {
  Tensor<T, 3> query;  // (B, Lq, query_dim)
  Tensor<T, 3> key;    // (B, Lkv, kdim)
  Tensor<T, 3> value;  // (B, Lkv, vdim)
};
using MultiHeadAttentionGradients = MultiHeadAttentionGradientsOf<float>;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
