#include "parallel_layer.h"

#include <utility>

#include "layer_by_context.h"
#include "layer_by_heads.h"
#include "operands.h"
#include "parallel_plan.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// A norm over all features of a token, and the gradient of a bias that heads
// share.
bool needs_all_heads(const MultiHeadAttentionConfig& config,
                     const LayerTogether& of) {
  const auto& bias = of.spec.bias;
  const bool shared_bias =
      bias.given() && bias.extents()[1] != of.spec.shape.Hq;
  return (of.training() && shared_bias) ||
         (config.qk_norm && config.qk_norm->over == NormOver::projection);
}

Result<Operands<float, 3>> read_whole_input(const InputArrays& headers) {
  HEADWISE_ASSIGN(const auto arrays, with_elements(headers));
  return read_operands<3>(arrays);
}

}  // namespace

Result<RunResult> run_layer_together(Communicator& group,
                                     MultiHeadAttention layer,
                                     const InputArrays& arrays,
                                     const LayerTogether& of) {
  HEADWISE_ASSIGN(
      const auto division,
      divide(group, of.flags,
             {of.spec, of.band, needs_all_heads(layer.config(), of)}));
  if (!division.by_heads()) {
    return run_layer_by_context(group, layer, *arrays.files, of, division);
  }
  auto in = work_visibly(&group, [&] { return read_whole_input(arrays); });
  HEADWISE_TRY(agreed(group, in));
  return run_layer_by_heads(group, std::move(layer), *std::move(in), of,
                            division);
}

}  // namespace headwise::cli
