// Masks of ONNX Runtime's operators of attention: what they add to the scores.
// A masked key gets mask_filter_value (-10000 by default), a later one under
// `unidirectional` the lowest float32, and then attention_bias. So a fully
// masked row still attends to its keys. A row whose sums are all -inf is
// NaN.
#pragma once

#include <optional>

#include "headwise/base/result.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"
#include "onnx/contrib_inputs.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

struct ContribMaskInputs {
  std::size_t index = 0;  // int32: lengths, or 0 for masked
  bool starts = false;    // lengths may be followed by starts: (2B)
  std::size_t bias = 0;
  bool shown = false;  // scores are an output, with what is added
};

// Fills call.causal and the mask from the attributes and inputs. Empty if
// call.causal is the only mask.
Result<std::optional<OnnxAttentionMask>> contrib_mask(
    const NodeCall& node, ContribInputs& tensors,
    const ContribMaskInputs& inputs, OnnxAttentionCall& call);

// (B or 1, H or 1, Lq, Lkv). Errors: shape_mismatch.
Status check_attention_bias(const NodeCall& node, std::size_t input,
                            const AttentionSizes& sizes);

}  // namespace headwise::inline HEADWISE_ABI
