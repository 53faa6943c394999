// The projections of a layer for some tokens.
#pragma once

#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/distribute/context_layer.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/rotate_heads.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Queries, keys and values, normalised and rotated where the layer does so.
// `shape`: of a call of these rows alone; `positions` are read if the layer
// rotates. Errors: those of the steps.
Result<ContextLayerRun> project_rows(const MultiHeadAttention& layer,
                                     const AttentionShape& shape,
                                     const ContextLayerInputs& rows,
                                     const HeadPositions& positions,
                                     const Executor& executor);

// As the operation reads them.
AttentionInputsOf<float> compared_heads(const AttentionShape& shape,
                                        const ContextLayerInputs& rows,
                                        const ContextLayerRun& run);

}  // namespace headwise::inline HEADWISE_ABI
