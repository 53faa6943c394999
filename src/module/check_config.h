// Whether the parameters of a layer fit each other and its heads.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise {

// Errors: invalid_argument, shape_mismatch.
Status check_params(const MultiHeadAttentionParams& params,
                    std::size_t num_heads, std::size_t num_kv_heads);

}  // namespace headwise
