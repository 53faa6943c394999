// What pruning took away, given back as far as the heads that stayed can: the
// output projection of each pruned layer is fitted, by least squares, to what
// the whole model has there. Layer by layer from the first on, with t for the
// tokens of the calibration data,
//
//   minimise over W, b   mean_t |W c_t + b - y_t|^2 + ridge * |W - w_o|^2
//
//   c_t  what the pruned layer's heads give for the pruned model's own hidden
//        states x'_t, (heads * v_head_dim)
//   y_t  x_t + attention(x_t) - x'_t of the whole model: what must be added to
//        x'_t to be where the whole model is
//
// ridge is `ridge` times the mean of c's variances, so that directions that the
// data do not show stay as they are. Layers that kept all heads stay, too.
// Solved in binary64 by a Cholesky factorisation. The bits do not depend on the
// threads, but they may on the machine: Eigen sums in an order that suits its
// vectors and caches. After an error the layers before it may be fitted.
//
// Errors: invalid_argument for encoders of different sizes, or for the pruned
// one if it was read for inference; for calibration data without a token, a
// ridge that is not positive; those of BertEncoder::forward().
//
// Source: after Kwon et al. 2022, arXiv:2204.09656, section 3.4 (mask tuning),
// with all of w_o in place of one factor a head.
//
// Example:
//   Status s = correct_outputs(pruned, whole, tokens.ids);
#pragma once

#include "headwise/base/result.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/run/executor.h"
#include "headwise/run/progress.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct CorrectOptions {
  double ridge = 0.1;
  Progress progress{};                 // counts layers
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

Status correct_outputs(BertEncoder& pruned, const BertEncoder& whole,
                       const RaggedTokens& calibration,
                       const CorrectOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
