// The multi-head attention layer, steps 4 to 12 in one call: project, split
// into heads, attend, merge, project:
//
//   output = merge(attention(split(w_q query), split(w_k key),
//                            split(w_v value)))
//   output = w_o output                            unless !out_proj
//
// If !value_proj, split(value) instead of split(w_v value). With `.qk_norm` the
// queries and keys of the heads are normalised (steps/norm_heads.h); with
// `.rotary` they are then rotated by their positions (steps/rotary.h).
//
//   query   (B, Lq, query_dim)   in   or (Lq, query_dim), and so on, unbatched
//   key     (B, Lkv, kdim)       in   in self-attention the same tensor
//   value   (B, Lkv, vdim)       in
//   output  (B, Lq, embed_dim)   out  num_heads * v_head_dim if !out_proj
//
// Query, key, value and output may also be BFloat16 or Float16. The layer
// computes in float all the same: it widens its inputs, in memory of their
// size in float, and rounds each element of the output once. Its parameters
// are float; Linear::from_params() takes 16-bit ones.
//
// Its parameters, and what they are made from, are in module/layer_config.h;
// what a call takes and returns besides tensors is in module/layer_results.h.
//
// With `.scoring = Scoring::additive` (Bahdanau) the score of query i and key j
// is w_score . tanh(q[i] + k[j]) in each head instead of scale * q[i] . k[j];
// head_dim is then the size of the head's hidden layer.
//
// With `.add_bias_kv` one more key and value, bias_k and bias_v, follow the
// projected ones in every sequence, and with `.add_zero_attn` one of zeros, as
// in PyTorch (steps/added_keys.h). They are neither normalised nor rotated, and
// every query attends to them. attn_weights and scores have a column for each.
//
// With num_kv_heads < num_heads (grouped-query attention; 1: multi-query) query
// head h reads head h / (num_heads / num_kv_heads) of keys and values, or the
// one given by kv_group_sizes. LayerOptions::head_gates scales or turns off
// heads: merge(gated(...)), the context of each head times its gate, and
// LayerOptions::hooks see or change the context (module/head_hooks.h). Keys and
// values at the end of a sequence that no query may attend to are not
// projected, unless a trace or EmptyRow::uniform reads them.
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2; Ainslie et al.
// 2023, arXiv:2305.13245 (grouped queries); Bahdanau, Cho & Bengio 2015,
// arXiv:1409.0473, section A.1.2 (additive scoring).
//
// Example:
//   MultiHeadAttention mha =
//       MultiHeadAttention::create({.embed_dim = 512, .num_heads = 8}, Seed{7})
//           .value();
//   auto result = mha.forward(x, x, x, {.mask = causal()}).value();
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "headwise/attention/spec.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/module/layer_config.h"
#include "headwise/module/layer_results.h"
#include "headwise/run/reports.h"
#include "headwise/steps/param_terms.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// A layer that was moved from can only be destroyed or assigned to.
class MultiHeadAttention {
 public:
  // Draws parameters with the distribution of PyTorch's nn.Linear, from a
  // generator that gives the same numbers on every machine; norms begin with
  // the factor 1 and the bias 0, and bias_k and bias_v as PyTorch's, normal
  // with the standard deviation 1 / sqrt(elements). Errors: those of
  // complete_config().
  static Result<MultiHeadAttention> create(
      const MultiHeadAttentionConfig& config, Seed seed);
  // Sizes come from the parameters, and so does the arithmetic: that of every
  // projection. A layer may have no heads, as after pruning all of them: its
  // parameters then have no features, and its output is w_o's bias. Errors:
  // shape_mismatch, invalid_argument.
  static Result<MultiHeadAttention> from_params(MultiHeadAttentionParams params,
                                                HeadCounts heads);
  // The same with even groups.
  static Result<MultiHeadAttention> from_params(
      MultiHeadAttentionParams params, std::size_t num_heads,
      std::optional<std::size_t> num_kv_heads = {},
      std::optional<std::size_t> vdim = {}) {
    return from_params(std::move(params),
                       HeadCounts{num_heads, num_kv_heads, {}, vdim});
  }

  // Sets the input sizes that are still open (kOpenSize) and draws the
  // parameters. Does nothing if no size is open. Errors, after which nothing
  // has changed: invalid_argument for an open size that is missing or 0, or a
  // size that differs from one already fixed; out_of_memory.
  Status fix_sizes(const InputSizes& sizes);

  // From now on queries and keys are rotated in this way, or, with no value, no
  // longer; for a layer that was read from a file. Errors, after which nothing
  // has changed: invalid_argument for a rotary_dim above head_dim.
  Status set_rotary(std::optional<Rotary> rotary);

  // From now on the layer computes in this arithmetic; for a layer that was
  // read from a file. Errors, after which nothing has changed: invalid_argument
  // for exact in a layer in bf16 that keeps only rounded parameters
  // (Linear::for_inference()); out_of_memory, unsupported for a HEADWISE_TARGET
  // that is not available.
  Status set_arithmetic(Arithmetic arithmetic);

  // options.arithmetic may be left out: that of the layer is used. bf16 in an
  // exact layer is an error (invalid_argument), and so is a trace of a layer in
  // bf16 (unsupported).
  //
  // Calls change nothing and may run at the same time. The layer keeps the
  // memory of at most 16 of them for later calls. `trace`, if given, receives
  // each step with its tensor, which takes L x L memory. A ragged batch is (1,
  // rows, E), and so is its output; it has no trace. Errors: invalid_argument,
  // also while an input size is open; shape_mismatch, out_of_range,
  // out_of_memory, unsupported.
  Result<MultiHeadAttentionResult<3>> forward(
      TensorView<const float, 3> query, TensorView<const float, 3> key,
      TensorView<const float, 3> value, const AttentionOptions& options = {},
      const LayerOptions& layer_options = {}, TraceSink* trace = nullptr) const;
  Result<MultiHeadAttentionResult<2>> forward(
      TensorView<const float, 2> query, TensorView<const float, 2> key,
      TensorView<const float, 2> value, const AttentionOptions& options = {},
      const LayerOptions& layer_options = {}, TraceSink* trace = nullptr) const;

  // Writes only the output, to the caller's memory: (B, Lq, embed_dim) with
  // contiguous features. Once the layer keeps enough memory, a call allocates
  // only what the options need. Errors as forward(); invalid_argument for an
  // output that shares memory with query, key or value, for
  // options.attn_weights and options.scores.
  Status forward_into(TensorView<const float, 3> query,
                      TensorView<const float, 3> key,
                      TensorView<const float, 3> value,
                      TensorView<float, 3> output,
                      const AttentionOptions& options = {},
                      const LayerOptions& layer_options = {}) const {
    return write_output(query, key, value, output, options, layer_options);
  }

  // From now on both layers use the memory that `other` keeps: layers that run
  // one after another need it only once. No call may run meanwhile.
  void share_memory_with(const MultiHeadAttention& other);

  // The forward pass of training: the same result, and what backward() needs.
  // The inputs and the views inside the options must outlive the backward pass
  // and keep their values. Errors as forward(); invalid_argument for dropout
  // (p > 0, also the layer's own) without options.dropout.training and .step,
  // unless there is a keep mask.
  Result<MultiHeadAttentionSaved> forward_for_backward(
      TensorView<const float, 3> query, TensorView<const float, 3> key,
      TensorView<const float, 3> value, const AttentionOptions& options = {},
      const LayerOptions& layer_options = {}) const;
  // The gradients of a loss, from its gradients with respect to the output (B,
  // Lq, embed_dim) and to the returned attention weights (the same shape; no
  // view: none). If one tensor was query, key and value, its gradient is the
  // sum of the three. Errors: invalid_argument for a state that was already
  // used, or that comes from another layer or from before an update();
  // shape_mismatch, out_of_memory. After an error the state can still be used.
  // If `terms` is given, it receives the terms of w_q, w_k, w_v and w_o under
  // these names, and their gradients are empty.
  Result<MultiHeadAttentionGradients> backward(
      MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
      TensorView<const float, 4> d_attn_weights = {},
      ParamTerms* terms = nullptr) const;

  // The same for inputs of 16 bits.
#define HEADWISE_LAYER(T)                                                    \
  Result<MultiHeadAttentionResult<3, T>> forward(                            \
      TensorView<const T, 3> query, TensorView<const T, 3> key,              \
      TensorView<const T, 3> value, const AttentionOptions& options = {},    \
      const LayerOptions& layer_options = {}, TraceSink* trace = nullptr)    \
      const;                                                                 \
  Result<MultiHeadAttentionResult<2, T>> forward(                            \
      TensorView<const T, 2> query, TensorView<const T, 2> key,              \
      TensorView<const T, 2> value, const AttentionOptions& options = {},    \
      const LayerOptions& layer_options = {}, TraceSink* trace = nullptr)    \
      const;                                                                 \
  Status forward_into(TensorView<const T, 3> query,                          \
                      TensorView<const T, 3> key,                            \
                      TensorView<const T, 3> value, TensorView<T, 3> output, \
                      const AttentionOptions& options = {},                  \
                      const LayerOptions& layer_options = {}) const {        \
    return write_output(query, key, value, output, options, layer_options);  \
  }                                                                          \
  Result<MultiHeadAttentionSavedOf<T>> forward_for_backward(                 \
      TensorView<const T, 3> query, TensorView<const T, 3> key,              \
      TensorView<const T, 3> value, const AttentionOptions& options = {},    \
      const LayerOptions& layer_options = {}) const;                         \
  Result<MultiHeadAttentionGradientsOf<T>> backward(                         \
      MultiHeadAttentionSavedOf<T>& saved, TensorView<const T, 3> d_output,  \
      TensorView<const float, 4> d_attn_weights = {},                        \
      ParamTerms* terms = nullptr) const;
  HEADWISE_LAYER(BFloat16)
  HEADWISE_LAYER(Float16)
#undef HEADWISE_LAYER

  // Passes each parameter's elements to `change`, which may write them, in the
  // order "w_q.weight", "w_q.bias", the same for w_k, w_v and w_o,
  // "w_score.weight", "q_norm.weight", "q_norm.bias", the same for k_norm,
  // "bias_k", "bias_v"; a parameter that the layer does not have is left out.
  // The names are string literals. No other call may run meanwhile, and
  // backward() refuses what was saved before. The first error of `change` ends
  // the update and is returned; an exception of `change` reaches the caller.
  // What `change` wrote until then stays, and the layer remains usable. Errors:
  // invalid_argument while an input size is open; then `change` is not called.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);

  // Every size filled in; kOpenSize where still open.
  const MultiHeadAttentionConfig& config() const;
  // No value while an input size is open.
  const std::optional<MultiHeadAttentionParams>& params() const;

 private:
  struct HEADWISE_HIDDEN State;

  explicit MultiHeadAttention(Hidden<State> state) : state_(std::move(state)) {}

  // Of four tensors of one type, with three axes.
  Status write_output(const TensorArg& query, const TensorArg& key,
                      const TensorArg& value, const TensorArg& output,
                      const AttentionOptions& options,
                      const LayerOptions& layer_options) const;
  template <class T>
  HEADWISE_HIDDEN Result<MultiHeadAttentionSavedOf<T>> save(
      TensorView<const T, 3> query, TensorView<const T, 3> key,
      TensorView<const T, 3> value, const AttentionOptions& options,
      const LayerOptions& layer_options) const;
  template <class T>
  HEADWISE_HIDDEN Result<MultiHeadAttentionGradientsOf<T>> differentiate(
      MultiHeadAttentionSavedOf<T>& saved, TensorView<const T, 3> d_output,
      TensorView<const float, 4> d_attn_weights, ParamTerms* terms) const;

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
