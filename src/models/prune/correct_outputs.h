// Makes up for pruned heads as far as the remaining heads can: the output
// projection of each pruned layer is fitted, by least squares, to the hidden
// states of the whole model. Layer by layer from the first on, with t for the
// tokens of the calibration data,
//
//   minimise over W, b   mean_t |W c_t + b - y_t|^2 + ridge * |W - w_o|^2
//
//   c_t  the context of the pruned layer's heads for the pruned model's own
//        hidden states x'_t, (heads * v_head_dim)
//   y_t  x_t + attention(x_t) - x'_t, with x_t and attention of the whole
//        model: what must be added to x'_t to reach the whole model's states
//
// ridge is `ridge` times the mean of c's variances, so that directions that do
// not occur in the data stay unchanged. Layers that kept all heads are not
// changed either. Solved in binary64 with a Cholesky factorisation. The bits do
// not depend on threads, but may depend on the machine: Eigen's order of sums
// depends on vector and cache sizes. After an error, earlier layers may already
// be changed.
//
// Errors: invalid_argument for encoders of different sizes, a pruned encoder
// that was read for inference, calibration data without a token, or a ridge
// that is not positive; those of Transformer::forward().
//
// Source: after Kwon et al. 2022, arXiv:2204.09656, section 3.4 (mask tuning),
// with all of w_o instead of one factor per head.
//
// Example:
//   Status s = correct_outputs(pruned, whole, tokens.ids);
#pragma once

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct CorrectOptions {
  double ridge = 0.1;
  Progress progress{};                 // counts layers
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

Status correct_outputs(Transformer& pruned, const Transformer& whole,
                       const RaggedTokens& calibration,
                       const CorrectOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
