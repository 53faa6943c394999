// Whether the parameters of a layer fit each other and its heads.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise::inline HEADWISE_ABI {

// num_kv_heads of a configuration or of HeadCounts.
template <class Heads>
std::size_t kv_heads_of(const Heads& heads) {
  return heads.num_kv_heads.value_or(heads.kv_group_sizes.empty()
                                         ? heads.num_heads
                                         : heads.kv_group_sizes.size());
}

// v_head_dim, of which `heads.vdim` may tell what a layer without w_v does not.
// Errors: invalid_argument, shape_mismatch.
Result<std::size_t> check_params(const MultiHeadAttentionParams& params,
                                 const HeadCounts& heads);

}  // namespace headwise::inline HEADWISE_ABI
