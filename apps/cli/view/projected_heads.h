// Queries and keys of a layer of a model, from the hidden states that enter it.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"

namespace headwise::cli {

class ProjectedHeads {
 public:
  // hidden (1, L, E). Errors: out_of_memory.
  static Result<ProjectedHeads> of(const MultiHeadAttention& attention,
                                   TensorView<const float, 3> hidden,
                                   const Executor& executor);

  // Of `count` tokens: (1, count, Hq, D) and (1, count, Hkv, D).
  TensorView<const float, 4> query(std::size_t first, std::size_t count) const {
    return {&query_(0, first, 0), {1, count, num_heads_, head_dim_}};
  }
  TensorView<const float, 4> key(std::size_t first, std::size_t count) const {
    return {&key_(0, first, 0), {1, count, num_kv_heads_, head_dim_}};
  }

 private:
  Tensor<float, 3> query_;
  Tensor<float, 3> key_;
  std::size_t num_heads_ = 0;
  std::size_t num_kv_heads_ = 0;
  std::size_t head_dim_ = 0;
};

}  // namespace headwise::cli
