// What a key adds to the output of its layer through one head, for an attention
// weight of 1: f[h,j] of value_norms().
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/projection.h"

namespace headwise::inline HEADWISE_ABI {

class HeadValues {
 public:
  // Errors: invalid_argument while an input size of the layer is open;
  // shape_mismatch for values that do not have the layer's heads; unsupported
  // for a layer in bf16; out_of_memory.
  static Result<HeadValues> create(std::string_view operation,
                                   const MultiHeadAttention& layer,
                                   const Extents<4>& value);

  // From now on f has at most Dv numbers, whose norm is the same: R value,
  // where R is the Cholesky factor of w_o[h]^T w_o[h]. Errors: out_of_memory.
  Status keep_norms_only();

  std::size_t num_heads() const { return num_heads_; }
  const HeadGroups& groups() const { return groups_; }
  // f of the keys [first, first + count): (B, count, features).
  Result<Tensor<float, 3>> of(std::size_t head,
                              TensorView<const float, 4> value,
                              std::size_t first, std::size_t count,
                              const Executor& executor) const;

 private:
  std::size_t num_heads_ = 0;
  std::size_t num_kv_heads_ = 0;
  HeadGroups groups_;
  std::vector<Linear> parts_;  // of w_o, without its bias; empty without w_o
};

}  // namespace headwise::inline HEADWISE_ABI
