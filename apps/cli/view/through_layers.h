// What reaches the tokens of a text through all layers of its model.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "viewed_heads.h"

namespace headwise::cli {

// Errors: for a text that is too long for flow.
Status check_flow_tokens(const ViewedHeads& heads);

// heads/rollout.h, for rows (1, R, L). The heads are those of all layers.
// Errors: those of rollout() and of the model; bad_data where it computes NaN.
Result<Tensor<float, 3>> rollout_of(const ViewedHeads& heads,
                                    TensorView<const float, 3> rows);

// The mean over the heads of the attention weights, (N, L, L); 0 in a layer
// without heads. Errors: those of attention() and of the model; bad_data where
// it computes NaN.
Result<Tensor<float, 3>> mean_weights_of(const ViewedHeads& heads);

}  // namespace headwise::cli
