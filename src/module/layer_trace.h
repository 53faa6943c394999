// Reports the steps of the layer to a trace, unless that is null.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "module/layer_memory.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {

// The projections, and the steps of the operation. These are computed again
// step by step next to the result, so that a trace changes no bit of it.
// `value`: as for split().
Status trace_heads(TraceSink* trace, const Projected& projected,
                   TensorView<const float, 3> value, const SplitHeads& heads,
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
