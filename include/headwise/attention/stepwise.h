// Attention step by step, with every intermediate kept: what `headwise explain`
// shows. The numbers are those of attention() up to rounding, since each step
// is computed on its own; it takes L x L memory.
//
// Example:
//   AttentionSteps steps =
//       stepwise_attention(q, k, v, {.mask = causal()}).value();
//   // How much query 7 attends to key 2 in head 3:
//   steps.attn_weights(0, 3, 7, 2);
#pragma once

#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/reports.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct AttentionSteps {
  Tensor<float, 4> scores;           // (B, Hq, Lq, Lkv)
  Tensor<float, 4> capped_scores;    // (B, Hq, Lq, Lkv); empty without softcap
  Tensor<float, 4> biased_scores;    // (B, Hq, Lq, Lkv); empty without bias
  Tensor<float, 4> t5_scores;        // (B, Hq, Lq, Lkv); empty without t5_bias
  Tensor<float, 4> alibi_scores;     // (B, Hq, Lq, Lkv); empty without ALiBi
  Tensor<float, 4> masked_scores;    // (B, Hq, Lq, Lkv); empty without a mask
  Tensor<float, 4> attn_weights;     // (B, Hq, Lq, Lkv), before dropout
  Tensor<float, 4> dropped_weights;  // (B, Hq, Lq, Lkv); empty without dropout
  Tensor<float, 4> context;          // (B, Lq, Hq, Dv)
  Tensor<float, 3> lse;              // (B, Hq, Lq)
};

// The steps between the scores and the mask, in their order.
using HasScoreStep = bool(const AttentionSpec&);
struct ScoreStep {
  std::string_view name;
  HasScoreStep* given;
};
inline constexpr ScoreStep kScoreSteps[] = {
    {"capped_scores",
     [](const auto& spec) { return spec.softcap.has_value(); }},
    {"biased_scores", [](const auto& spec) { return spec.bias.given(); }},
    {"t5_scores", [](const auto& spec) { return spec.t5_bias.given(); }},
    {"alibi_scores", [](const auto& spec) { return spec.alibi.given(); }},
};

// Shapes and errors are those of attention(); also unsupported for a part of
// the keys and for bf16. Each step is reported to `trace`, if given: scores,
// capped_scores, biased_scores, t5_scores, alibi_scores, the masks,
// masked_scores, sinks, attn_weights, dropped_weights, context. Added keys are
// columns behind the Lkv keys of all of them but the masks.
Result<AttentionSteps> stepwise_attention(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    TensorView<const float, 4> value, const AttentionOptions& options = {},
    const OperationOptions& operation_options = {}, TraceSink* trace = nullptr);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
