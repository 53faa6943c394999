// Multi-head attention, the layer, steps 4 to 12 in one call: project, split
// into heads, attend, merge, project:
//
//   output = merge(attention(split(w_q query), split(w_k key),
//                            split(w_v value)))
//   output = w_o output                            unless !out_proj
//
// and split(value) as it is in place of split(w_v value) if !value_proj.
//
//   query   (B, Lq, query_dim)   in   or (Lq, query_dim), and so on, unbatched
//   key     (B, Lkv, kdim)       in   self-attention passes one tensor thrice
//   value   (B, Lkv, vdim)       in
//   output  (B, Lq, embed_dim)   out  num_heads * v_head_dim if !out_proj
//
//   w_q.weight  (num_heads * head_dim, query_dim)     w_q.bias  (out features)
//   w_k.weight  (num_kv_heads * head_dim, kdim)       w_k.bias
//   w_v.weight  (num_kv_heads * v_head_dim, vdim)     w_v.bias
//   w_o.weight  (embed_dim, num_heads * v_head_dim)   w_o.bias
//   w_score.weight  (num_heads, head_dim)             additive scoring alone
//
// With `.scoring = Scoring::additive` (Bahdanau) the score of query i and key j
// is w_score . tanh(q[i] + k[j]) in each head, head_dim being the size of its
// hidden layer, in place of scale * q[i] . k[j].
//
// With num_kv_heads < num_heads (grouped-query attention; 1: multi-query) head
// h of the queries reads head h / (num_heads / num_kv_heads) of keys and
// values, or the one that kv_group_sizes says. `.head_gates` turns heads down
// or off: merge(gated(...)), the context of each head times its gate. Keys and
// values that the mask hides from every query of their sequence at its end are
// not projected, unless a trace or EmptyRow::uniform reads them.
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
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/trace_sink.h"
#include "headwise/steps/projection.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// An input size that is taken from the tensors of the first call.
inline constexpr std::size_t kFromFirstCall = ~std::size_t{0};

// How a query and a key are compared.
enum class Scoring { dot, additive };

struct MultiHeadAttentionConfig {
  std::size_t embed_dim = 0;  // the output's size
  std::size_t num_heads = 0;
  // Heads of keys and values, a divisor of num_heads unless kv_group_sizes are
  // given; not given: as many as those, or num_heads.
  std::optional<std::size_t> num_kv_heads{};
  // How many query heads read each key head, in order; empty: evenly.
  std::vector<std::size_t> kv_group_sizes{};
  double dropout = 0;  // on the attention weights, when training
  bool bias = true;    // of all four projections
  // Input sizes; not given: embed_dim.
  std::optional<std::size_t> query_dim{};
  std::optional<std::size_t> kdim{};
  std::optional<std::size_t> vdim{};
  // Size of one head; not given: embed_dim / num_heads, and head_dim.
  std::optional<std::size_t> head_dim{};
  std::optional<std::size_t> v_head_dim{};
  bool out_proj = true;
  // false: the heads share out the features of the values themselves, vdim =
  // num_kv_heads * v_head_dim, as in d2l's additive attention.
  bool value_proj = true;
  Scoring scoring = Scoring::dot;
};

// The same with every size that was not given filled in. Errors:
// invalid_argument for a size of 0, heads that do not divide embed_dim, key
// heads that do not divide the heads, groups that do not add up to them, values
// that the key heads cannot share out without a projection, dropout outside [0,
// 1].
Result<MultiHeadAttentionConfig> complete_config(
    MultiHeadAttentionConfig config);

struct MultiHeadAttentionParams {
  Linear w_q;
  Linear w_k;
  std::optional<Linear> w_v{};                // none: the values as they are
  std::optional<Linear> w_o{};                // none: no output projection
  std::optional<Tensor<float, 2>> w_score{};  // given: additive scoring
};

// What the parameters do not tell of a layer.
struct HeadCounts {
  std::size_t num_heads = 0;
  // As those of MultiHeadAttentionConfig.
  std::optional<std::size_t> num_kv_heads{};
  std::vector<std::size_t> kv_group_sizes{};
  // For a layer without w_v; not given: what w_o takes.
  std::optional<std::size_t> vdim{};
  // Not given: the rows of w_q.weight / num_heads, which it must be.
  std::optional<std::size_t> head_dim{};
  double dropout = 0;
};

// Rank 3 for a batch, 2 without: the B below is then missing.
template <std::size_t Rank>
struct MultiHeadAttentionResult {
  Tensor<float, Rank> output;            // (B, Lq, embed_dim)
  Tensor<float, Rank + 1> attn_weights;  // as options.attn_weights says
  Tensor<float, Rank> lse;               // (B, num_heads, Lq), natural log
};

// What a forward pass in training keeps for its backward pass: one, which uses
// it up. Moved, never copied.
class MultiHeadAttentionSaved {
 public:
  const MultiHeadAttentionResult<3>& result() const { return result_; }
  // Once the backward pass has used what was kept.
  MultiHeadAttentionResult<3> take_result() && { return std::move(result_); }

 private:
  friend class MultiHeadAttention;
  struct State;
  struct Delete {
    void operator()(State* state) const;
  };

  MultiHeadAttentionResult<3> result_;
  std::unique_ptr<State, Delete> state_;  // none: it was used
};

struct MultiHeadAttentionGradients {
  Tensor<float, 3> query;  // (B, Lq, query_dim)
  Tensor<float, 3> key;    // (B, Lkv, kdim)
  Tensor<float, 3> value;  // (B, Lkv, vdim)
  LinearGradients w_q;
  LinearGradients w_k;
  LinearGradients w_v;  // empty without one
  std::optional<LinearGradients> w_o{};
  // Of options.bias by B, H, Lq, Lkv, the extent 1 where it is broadcast, and
  // of options.alibi (num_heads); empty without one.
  Tensor<float, 4> bias{};
  Tensor<float, 1> alibi{};
  Tensor<float, 2> w_score{};  // (num_heads, head_dim); empty without one
  // Of options.head_gates, by sequence: (B, num_heads). Empty without them.
  Tensor<float, 2> head_gates{};
};

struct LayerInputs;  // of the layer's own files

class MultiHeadAttention {
 public:
  // Parameters as PyTorch's nn.Linear draws them, from a generator that gives
  // the same numbers on every machine. Errors: those of complete_config().
  static Result<MultiHeadAttention> create(
      const MultiHeadAttentionConfig& config, Seed seed);
  // Sizes come from the parameters. No heads at all: parameters of no features,
  // as where all were pruned; the output is then w_o's bias. Errors:
  // shape_mismatch, invalid_argument.
  static Result<MultiHeadAttention> from_params(MultiHeadAttentionParams params,
                                                HeadCounts heads);
  // The same with even groups.
  static Result<MultiHeadAttention> from_params(
      MultiHeadAttentionParams params, std::size_t num_heads,
      std::optional<std::size_t> num_kv_heads = {},
      std::optional<std::size_t> vdim = {});

  // The first call fixes the sizes that are still open (kFromFirstCall). Every
  // other call changes nothing and may run beside others; the layer keeps the
  // memory that they computed in (of at most 16 at a time) for the next ones.
  // `trace`, when given, is told each step with its tensor, at the price of L x
  // L memory. A ragged batch is (1, rows, E), and so is its output; it has no
  // trace. Options have no score_weight: the layer's is w_score; nor
  // kv_groups: its own are kv_group_sizes. Errors: shape_mismatch,
  // invalid_argument, out_of_range, out_of_memory, unsupported.
  Result<MultiHeadAttentionResult<3>> forward(
      TensorView<const float, 3> query, TensorView<const float, 3> key,
      TensorView<const float, 3> value, const AttentionOptions& options = {},
      TraceSink* trace = nullptr);
  Result<MultiHeadAttentionResult<2>> forward(
      TensorView<const float, 2> query, TensorView<const float, 2> key,
      TensorView<const float, 2> value, const AttentionOptions& options = {},
      TraceSink* trace = nullptr);
  // On a layer with open sizes: an error.
  Result<MultiHeadAttentionResult<3>> forward(
      TensorView<const float, 3> query, TensorView<const float, 3> key,
      TensorView<const float, 3> value, const AttentionOptions& options = {},
      TraceSink* trace = nullptr) const;

  // The output alone, into memory of the caller's: (B, Lq, embed_dim), not that
  // of query, key or value, the features side by side. Once the layer has the
  // memory that it computes in, none is taken but for what the options need.
  // Errors as forward(); invalid_argument for options.attn_weights.
  Status forward_into(TensorView<const float, 3> query,
                      TensorView<const float, 3> key,
                      TensorView<const float, 3> value,
                      TensorView<float, 3> output,
                      const AttentionOptions& options = {}) const;

  // Computes from now on in the memory that `other` keeps, and it in this
  // one's: layers that run one after another need only one. No call may run
  // meanwhile.
  void share_memory_with(const MultiHeadAttention& other) {
    memory_ = other.memory_;
  }

  // The forward pass of training: the same result, and what backward() needs.
  // The inputs and the views inside `options` must outlive the backward pass
  // and stay as they are. Dropout still wants options.dropout.training. Errors
  // as forward(); on a layer with open sizes an error.
  Result<MultiHeadAttentionSaved> forward_for_backward(
      TensorView<const float, 3> query, TensorView<const float, 3> key,
      TensorView<const float, 3> value,
      const AttentionOptions& options = {}) const;
  // The gradients of a loss from those by the output (B, Lq, embed_dim) and by
  // the returned attention weights (their shape; no view: none). Where one
  // tensor was query, key and value, its gradient is the sum of theirs. Errors:
  // invalid_argument for a state that was used, or whose layer this is not or
  // no longer is; shape_mismatch, out_of_memory. After an error the state can
  // still be used.
  Result<MultiHeadAttentionGradients> backward(
      MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
      TensorView<const float, 4> d_attn_weights = {}) const;

  // Shows each parameter's elements to `change`, which may write them:
  // "w_q.weight", "w_q.bias" and so on to "w_score.weight", as in files. No
  // other call may run meanwhile; what was saved before is of no more use. Not
  // on a layer with open sizes: nothing is shown. If `change` throws, what it
  // wrote until then stays, the layer remains usable, and the exception goes on
  // to the caller.
  void update(
      FunctionRef<void(std::string_view name, std::span<float> values)> change);

  // Every size filled in; kFromFirstCall where still open.
  const MultiHeadAttentionConfig& config() const { return config_; }
  // No value while an input size is open.
  const std::optional<MultiHeadAttentionParams>& params() const {
    return params_;
  }

 private:
  MultiHeadAttention(const MultiHeadAttentionConfig& config, Seed seed);

  friend class MultiHeadAttentionSaved;
  struct Run;
  struct RunFor;
  class MemoryShelf;

  Status draw_params();
  void set_params(MultiHeadAttentionParams params);
  Result<Run> run(TensorView<const float, 3> query,
                  TensorView<const float, 3> key,
                  TensorView<const float, 3> value,
                  const AttentionOptions& options, const RunFor& purpose) const;
  TensorView<const float, 3> context_of(
      const MultiHeadAttentionSaved& saved) const;
  Result<std::optional<Tensor<float, 3>>> context_gradient(
      const MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
      MultiHeadAttentionGradients& gradients) const;
  Result<Run> run_without_heads(const LayerInputs& inputs,
                                const AttentionOptions& options,
                                const RunFor& purpose) const;
  Result<MultiHeadAttentionGradients> differentiate_without_heads(
      const MultiHeadAttentionSaved& saved,
      TensorView<const float, 3> d_output) const;
  Result<MultiHeadAttentionGradients> differentiate(
      const MultiHeadAttentionSaved& saved, TensorView<const float, 3> d_output,
      TensorView<const float, 4> d_attn_weights) const;

  MultiHeadAttentionConfig config_;
  HeadGroups kv_groups_;  // of config_.kv_group_sizes
  Seed seed_;
  std::optional<MultiHeadAttentionParams> params_;
  std::uint64_t params_id_ = 0;  // no other parameters have it
  // Where forward() computes; never null but in a layer that was moved from.
  std::shared_ptr<MemoryShelf> memory_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
