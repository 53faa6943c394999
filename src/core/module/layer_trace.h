// Reports the steps of the layer to a trace, unless that is null.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "module/layer_memory.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {

// The projections and the heads. `value`: as for split().
void trace_heads(TraceSink* trace, const Projected& projected,
                 TensorView<const float, 3> value, const SplitHeads& heads);
// Queries and keys after their norm.
void trace_normed(TraceSink* trace, const SplitHeads& heads);
// Queries and keys after their rotation.
void trace_rotated(TraceSink* trace, const SplitHeads& heads);
// The steps of the operation. They are computed again step by step next to the
// result, so that a trace changes no bit of it.
Status trace_operation(TraceSink* trace, const SplitHeads& heads,
                       const AttentionOptions& options,
                       const OperationOptions& operation_options);

// (B, Lq, H, Dv)
void trace_gated(TraceSink* trace, TensorView<const float, 4> gated);
// (B, Lq, H * Dv)
void trace_merged(TraceSink* trace, TensorView<const float, 3> merged);
// (B, Lq, embed_dim), or (B, Lq, H * Dv) without a w_o.
void trace_output(TraceSink* trace, TensorView<const float, 3> output,
                  bool has_w_o);

}  // namespace headwise::inline HEADWISE_ABI
