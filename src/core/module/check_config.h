// The checks of a layer's sizes: those of its configuration, of its inputs and
// of its parameters.
#pragma once

#include <cstddef>
#include <string_view>

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

// Errors: invalid_argument for a rotary_dim above head_dim.
Status check_rotary(const std::optional<Rotary>& rotary, std::size_t head_dim);

// The first input size that is open: "kdim"; empty: none.
std::string_view open_size(const MultiHeadAttentionConfig& config);

// Errors: invalid_argument if a size is open; it says to call fix_sizes().
Status check_no_open_size(const MultiHeadAttentionConfig& config);

// `config` with its open sizes taken from `sizes`. Errors: invalid_argument for
// an open size that is missing or 0, and for a size that differs from one that
// is fixed.
Result<MultiHeadAttentionConfig> with_sizes(MultiHeadAttentionConfig config,
                                            const InputSizes& sizes);

// Returns v_head_dim, which a layer without w_v takes from `heads.vdim`.
// Errors: invalid_argument, shape_mismatch.
Result<std::size_t> check_params(const MultiHeadAttentionParams& params,
                                 const HeadCounts& heads);

}  // namespace headwise::inline HEADWISE_ABI
