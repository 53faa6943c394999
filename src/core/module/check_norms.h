// The checks of the norms of a layer's queries and keys.
#pragma once

#include <cstddef>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument for an eps that is not a positive number in binary32
// or a bias of an RMS norm.
Status check_qk_norm(const std::optional<QkNorm>& norm);

// Whether the parameters have the norms of heads.qk_norm. Errors:
// invalid_argument, shape_mismatch.
Status check_norms(const MultiHeadAttentionParams& params,
                   const HeadCounts& heads, std::size_t head_dim);

}  // namespace headwise::inline HEADWISE_ABI
