// A multi-head attention layer whose heads are divided among the ranks of a
// group. Each rank has the parameters of its heads and of its output features:
//
//   1. projects its heads' queries, keys and values and attends
//   2. receives the contexts of all heads
//   3. projects them to its output features, and receives all others
//
// Every rank passes the whole query, key and value, and gets the whole output.
// The result has the bits of MultiHeadAttention: no sum is divided, as w_o is
// split by its output features (docs/arithmetic.md, "A projection").
//
// A rank gets whole groups of heads, those of plan_shards() by heads; with more
// ranks than key heads, some attend to nothing and only project. A rank keeps
// about 1/P of the parameters. In training it keeps them twice: by heads and
// output features for the forward pass, and by input features for the gradients
// of the inputs, as these are sums over all heads.
//
// All ranks must be given the same inputs and options; sizes and most options
// are compared, the contents of tensors are not.
//
// Errors of a call, on every rank: those of MultiHeadAttention;
// invalid_argument for a group of another size, or ranks that were given
// different calls; unsupported for the mean of attention weights
// (mean_of_heads()), caches, and in training for a bias that heads
// share; rank_failure. After an error the group cannot be used.
//
// Source: Shoeybi et al. 2019, arXiv:1909.08053, section 3 (heads divided; w_o
// is divided otherwise there).
//
// Example:
//   LayerShard shard = LayerShard::create(layer, group.ranks(), group.rank())
//                          .value();
//   auto result = shard.forward(group, x, x, x, {.mask = causal()}).value();
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "headwise/attention/spec.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/distribute/communicator.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

namespace detail {
struct HEADWISE_HIDDEN SavedShard;
}  // namespace detail

// What a rank's forward pass keeps for its backward pass, once.
template <class T>
class LayerShardSavedOf {
 public:
  const MultiHeadAttentionResult<3, T>& result() const { return result_; }
  MultiHeadAttentionResult<3, T> take_result() && { return std::move(result_); }

 private:
  friend class LayerShard;

  MultiHeadAttentionResult<3, T> result_;
  // Null after the backward pass.
  Hidden<detail::SavedShard> state_;
};
using LayerShardSaved = LayerShardSavedOf<float>;

struct LayerShardOptions {
  bool training = false;  // keep what backward() needs
};

struct HEADWISE_HIDDEN LayerShardState;

class LayerShard {
 public:
  // Copies what rank `rank` of `ranks` needs of the layer, which may then be
  // destroyed. Errors: invalid_argument for no ranks, for a layer without heads
  // or with an open input size; out_of_range for a rank that is not below
  // `ranks`, or ranks above kMostRanks; unsupported for a norm over the whole
  // projection (NormOver::projection), which needs all heads.
  static Result<LayerShard> create(const MultiHeadAttention& layer,
                                   std::size_t ranks, std::size_t rank,
                                   const LayerShardOptions& options = {});

  // Of the whole layer.
  const MultiHeadAttentionConfig& config() const;
  // The bytes of the parameters that the rank keeps.
  std::size_t parameter_bytes() const;

  // As those of MultiHeadAttention. Attention weights and scores are those of
  // the rank's heads, (B, heads of the rank, Lq, Lkv), and so is
  // d_attn_weights. backward() gives the whole gradients of query, key, value
  // and the norms. Of all other gradients it gives the rank's part; gather()
  // puts the parts together.
#define HEADWISE_SHARD(T)                                       \
  Result<MultiHeadAttentionResult<3, T>> forward(               \
      Communicator& group, TensorView<const T, 3> query,        \
      TensorView<const T, 3> key, TensorView<const T, 3> value, \
      const AttentionOptions& options = {},                     \
      const LayerOptions& layer_options = {}) const;            \
  Result<LayerShardSavedOf<T>> forward_for_backward(            \
      Communicator& group, TensorView<const T, 3> query,        \
      TensorView<const T, 3> key, TensorView<const T, 3> value, \
      const AttentionOptions& options = {},                     \
      const LayerOptions& layer_options = {}) const;            \
  Result<MultiHeadAttentionGradientsOf<T>> backward(            \
      Communicator& group, LayerShardSavedOf<T>& saved,         \
      TensorView<const T, 3> d_output,                          \
      TensorView<const float, 4> d_attn_weights = {}) const;
  HEADWISE_SHARD(float)
  HEADWISE_SHARD(BFloat16)
  HEADWISE_SHARD(Float16)
#undef HEADWISE_SHARD

  // The gradients of the whole layer, from what backward() gave each rank: on
  // rank 0; on the others nothing.
  Result<MultiHeadAttentionParamGradients> gather(
      Communicator& group, MultiHeadAttentionParamGradients own) const;

 private:
  explicit LayerShard(Hidden<LayerShardState> state)
      : state_(std::move(state)) {}

  Hidden<LayerShardState> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
