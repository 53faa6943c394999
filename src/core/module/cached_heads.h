// Self-attention of new tokens over a cache (LayerOptions::cache), in place of
// the operation on the call's own keys.
#pragma once

#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/shape.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"
#include "module/layer_state.h"

namespace headwise::inline HEADWISE_ABI {

// The sizes of the new tokens. Errors: invalid_argument for a cache without
// sequences, in training or with a trace; shape_mismatch for keys that are not
// those of the queries; those of Offsets::check.
Result<AttentionShape> shape_of_new_tokens(const LayerState& layer,
                                           const LayerCall& call);
// Where they are in their sequences: (B, L), in a ragged batch (1, rows).
// Errors: those of KvCache::length.
Result<std::vector<std::int64_t>> positions_of_new_tokens(
    const LayerCall& call, const AttentionShape& shape);
// Appends and attends. Errors: those of DecodePlan.
Result<Attended> attend_to_cache(const LayerState& layer, const LayerCall& call,
                                 const AttentionOptions& options,
                                 const AttentionShape& shape,
                                 const SplitHeads& heads, LayerMemory& memory);

}  // namespace headwise::inline HEADWISE_ABI
