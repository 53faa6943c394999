// The parameters of the layer: how they are drawn, and their names.
#pragma once

#include <span>
#include <string_view>

#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer_state.h"

namespace headwise::inline HEADWISE_ABI {

// From the random streams of docs/arithmetic.md. Errors: out_of_memory.
Result<MultiHeadAttentionParams> draw_params(
    const MultiHeadAttentionConfig& config, Seed seed);

// Backward passes compare ids to refuse what was saved by a layer that has
// since changed.
void give_new_id(LayerState& layer);

// Gives the parameters an id that no other parameters have.
void set_params(LayerState& layer, MultiHeadAttentionParams params);

// Every projection is in this arithmetic then. Errors, after which nothing has
// changed: those of Linear::in_bf16() and Linear::in_float32().
Status set_arithmetic(MultiHeadAttentionParams& params, Arithmetic arithmetic);

// MultiHeadAttention::update() of a layer without open sizes.
Status update_params(
    LayerState& layer,
    FunctionRef<Status(std::string_view, std::span<float>)> change);

}  // namespace headwise::inline HEADWISE_ABI
