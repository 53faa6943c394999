// Attention on tensors that are ready: checked, with heads split and past keys
// prepended. Every operator of attention ends here.
#pragma once

#include <optional>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

struct ReadyAttention {
  OnnxAttentionCall call;
  std::optional<OnnxAttentionMask> mask;
  const Array* query = nullptr;  // with the axes that the call says
  const Array* key = nullptr;    // (B, Hkv, Lkv, D)
  const Array* value = nullptr;  // (B, Hkv, Lkv, Dv)
};

struct OnnxAttended {
  Array output;  // with the axes of the query
  Array scores;  // (B, Hq, Lq, Lkv); only if they are wanted
};

// attention.cc
Result<OnnxAttended> attend(const NodeCall& node, const ReadyAttention& ready,
                            bool wants_scores);

}  // namespace headwise::inline HEADWISE_ABI
