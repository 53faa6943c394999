// Whether the outputs of a call lie in memory of their own: what is read after
// it was written would be silently wrong.
#pragma once

#include "base/memory_overlap.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// What is added to the scores, as a view; no view where there is none.
inline TensorView<const float, 4> view_of(const BoundBias& bias) {
  return bias.given() ? TensorView<const float, 4>(bias.data(), bias.extents(),
                                                   bias.strides())
                      : TensorView<const float, 4>();
}

// `inputs` has query, key and value; `outputs` are those of AttentionOutputs.
// Errors: those of check_overlap().
template <class Inputs, class Outputs>
Status check_forward_memory(const AttentionSpec& spec, const Inputs& inputs,
                            const Outputs& outputs) {
  const bool weights = spec.attn_weights != AttnWeights::none;
  const StatisticsViews& statistics = outputs.statistics;
  return check_overlap(
      "attention",
      {{"output", Footprint(outputs.output)},
       {"attn_weights", Footprint(weights ? outputs.attn_weights
                                          : decltype(outputs.attn_weights)())},
       {"lse", Footprint(outputs.lse)},
       {"softmax_rows", Footprint(outputs.softmax_rows)},
       {"rows", Footprint(statistics.rows)},
       {"top_keys", Footprint(statistics.top_keys)},
       {"top_weights", Footprint(statistics.top_weights)},
       {"columns", Footprint(statistics.columns)},
       {"map_mean", Footprint(statistics.map_mean)},
       {"map_largest", Footprint(statistics.map_largest)}},
      {{"query", Footprint(inputs.query)},
       {"key", Footprint(inputs.key)},
       {"value", Footprint(inputs.value)},
       {"score_weight", Footprint(spec.score_weight)},
       {"bias", Footprint(view_of(spec.bias))},
       {"alibi", Footprint(spec.alibi.slopes())}});
}

// The same of a backward pass. `d_attn_weights` and `d_score_weight` may be no
// view.
template <class Inputs, class Gradients>
Status check_backward_memory(const AttentionSpec& spec, const Inputs& inputs,
                             const Footprint& d_attn_weights,
                             const Gradients& gradients,
                             const Footprint& d_score_weight) {
  return check_overlap("attention_backward",
                       {{"gradients.query", Footprint(gradients.query)},
                        {"gradients.key", Footprint(gradients.key)},
                        {"gradients.value", Footprint(gradients.value)},
                        {"gradients.bias", Footprint(gradients.bias)},
                        {"gradients.alibi", Footprint(gradients.alibi)},
                        {"gradients.score_weight", d_score_weight}},
                       {{"query", Footprint(inputs.query)},
                        {"key", Footprint(inputs.key)},
                        {"value", Footprint(inputs.value)},
                        {"output", Footprint(inputs.output)},
                        {"softmax_rows", Footprint(inputs.softmax_rows)},
                        {"d_output", Footprint(inputs.d_output)},
                        {"d_attn_weights", d_attn_weights},
                        {"score_weight", Footprint(spec.score_weight)},
                        {"bias", Footprint(view_of(spec.bias))},
                        {"alibi", Footprint(spec.alibi.slopes())}});
}

}  // namespace headwise::inline HEADWISE_ABI
