// The checks of a call of the layer, and the options of its operation.
#pragma once

#include <string_view>

#include "attention/planned_call.h"
#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"
#include "module/layer_state.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kLayerOperation = "multi_head_attention";

}  // namespace headwise::inline HEADWISE_ABI

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Errors: invalid_argument while an input size is open; shape_mismatch.
Status check_inputs(const LayerState& layer, const LayerInputs& inputs);

// Errors: those of internal::check_head_gates(); invalid_argument for positions
// and a rotation that the layer does not take.
Status check_layer_options(const LayerState& layer,
                           const LayerOptions& options);

// Of a forward pass in training. Errors: invalid_argument for dropout that the
// call leaves off, or that would drop the same weights in every step.
Status check_training_dropout(const Dropout& dropout);

// What the call rotates by; null: nothing.
HEADWISE_HIDDEN const Rotary* rotary_of(const LayerState& layer,
                                        const LayerOptions& options);

// The caller's options with the layer's own arithmetic and dropout.
AttentionOptions options_of(const LayerState& layer, const LayerCall& call);

// The layer's score weight, groups and added keys.
OperationOptions operation_options_of(const MultiHeadAttentionConfig& config,
                                      const MultiHeadAttentionParams& params,
                                      const HeadGroups& kv_groups);
OperationOptions operation_options_of(const LayerState& layer);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument for bf16 in an exact layer; unsupported for a trace
// of a layer in bf16.
Status check_arithmetic(const LayerState& layer, const LayerCall& call);

// For an output in the caller's memory. Errors: invalid_argument,
// shape_mismatch.
Status check_output(const LayerState& layer, const AttentionOptions& options,
                    const Extents<3>& query, const TensorArg& output);

// The plan of the operation, with the options that options_of() gives.
Result<PlannedCall> plan_of(const LayerState& layer, const LayerInputs& inputs,
                            const AttentionOptions& options);

// The extents of the attention weights and scores of a layer without heads.
// Errors: invalid_argument, and those of Offsets::check().
struct PairsWithoutHeads {
  Extents<4> attn_weights;
  Extents<4> scores;
};
Result<PairsWithoutHeads> pairs_without_heads(const LayerCall& call);

}  // namespace headwise::inline HEADWISE_ABI
