// Whether the parameters of a layer fit each other and its heads.
#pragma once

#include <cstddef>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise {

// v_head_dim, of which `vdim` may tell what a layer without w_v does not.
// Errors: invalid_argument, shape_mismatch.
Result<std::size_t> check_params(const MultiHeadAttentionParams& params,
                                 std::size_t num_heads,
                                 std::size_t num_kv_heads,
                                 std::optional<std::size_t> vdim);

}  // namespace headwise
