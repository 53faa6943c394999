// What the heads of a layer compare: the queries and keys of hidden states,
// projected, then normalised and rotated if the layer does so. Their bits are
// those of MultiHeadAttention::forward().
//
// Example:
//   auto heads = ProjectedHeads::of(model.attention(3), hidden, executor);
//   heads->query(0, tokens);  // of the first sequence, (1, tokens, Hq, D)
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class ProjectedHeads {
 public:
  // hidden (1, rows, E): sequences of `lengths` tokens, one after another;
  // empty: a single one. The layer has dot products as scores. Errors:
  // shape_mismatch for hidden states of another size; out_of_memory.
  static Result<ProjectedHeads> of(const MultiHeadAttention& attention,
                                   TensorView<const float, 3> hidden,
                                   const Executor& executor,
                                   std::span<const std::size_t> lengths = {});

  // Of `count` rows: (1, count, Hq, D) and (1, count, Hkv, D).
  TensorView<const float, 4> query(std::size_t first, std::size_t count) const {
    return {&query_(0, first, 0), {1, count, num_heads_, head_dim_}};
  }
  TensorView<const float, 4> key(std::size_t first, std::size_t count) const {
    return {&key_(0, first, 0), {1, count, num_kv_heads_, head_dim_}};
  }

 private:
  TensorView<float, 4> query_heads(std::size_t first, std::size_t count) {
    return {&query_(0, first, 0), {1, count, num_heads_, head_dim_}};
  }
  TensorView<float, 4> key_heads(std::size_t first, std::size_t count) {
    return {&key_(0, first, 0), {1, count, num_kv_heads_, head_dim_}};
  }

  Tensor<float, 3> query_;
  Tensor<float, 3> key_;
  std::size_t num_heads_ = 0;
  std::size_t num_kv_heads_ = 0;
  std::size_t head_dim_ = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
