// What `headwise run` computes: the operation or the layer on the files'
// tensors, and where a gradient of the output is given, the backward pass.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "operation/operation_inputs.h"
#include "operation/rotary_inputs.h"
#include "past_inputs.h"
#include "run_flags.h"
#include "run_inputs.h"

namespace headwise::cli {

// A gradient as its file holds it.
struct NamedGradient {
  std::string name;  // "d_query", "d_w_q.weight", ...
  std::vector<std::size_t> shape;
  Tensor<float, 1> elements;
};

// Tensors with their B, which is left out again where the input had none. A
// ragged batch's is 1 but for the attention weights, the scores and the keep
// mask.
struct RunResult {
  Tensor<float, 4> output_by_heads;  // the operation's, in the files' layout
  Tensor<float, 3> output;           // the layer's
  Tensor<float, 4> attn_weights;     // (B, H | 1, Lq, Lkv)
  Tensor<float, 3> lse;              // (B, H, Lq)
  std::vector<NamedGradient> gradients{};
  Tensor<bool, 4> keep_mask{};  // (B, H, Lq, Lkv), where --keep-mask-out asks
  Tensor<float, 4> scores{};    // (B, H, Lq, Lkv), where --scores-out asks
  // Past and new keys and values in the files' layout, as they were attended
  // to, where --present-dir asks.
  Tensor<float, 4> present_key{};
  Tensor<float, 4> present_value{};
};

// The heads of the attention weights and scores that are asked for.
inline std::size_t weight_heads(const AttentionOptions& options,
                                std::size_t heads) {
  return options.attn_weights == AttnWeights::none   ? 0
         : options.attn_weights == AttnWeights::mean ? 1
                                                     : heads;
}
inline std::size_t score_heads(const AttentionOptions& options,
                               std::size_t heads) {
  return options.scores == ScoresStage::none ? 0 : heads;
}

// `options`: those of `inputs`, with what is asked of the call; `group`: of
// --parallel, whose rank 0 gets the result. Errors: those of the library;
// shape_mismatch for files that do not fit.
Result<RunResult> run_operation(const RunFlags& flags, InputArrays arrays,
                                const PastInputs& past,
                                const OperationInputs& inputs,
                                const AttentionOptions& options,
                                const RotaryInputs& rotary,
                                Communicator* group = nullptr);
Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const OperationInputs& inputs,
                            const AttentionOptions& options,
                            const RotaryInputs& rotary,
                            Communicator* group = nullptr);

}  // namespace headwise::cli
