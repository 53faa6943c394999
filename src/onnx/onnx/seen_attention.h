// What OnnxAttention keeps of a node while the model runs.
#pragma once

#include <cstddef>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/onnx/attention.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"
#include "onnx/attention_options.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

struct OnnxAttention::Parts {
  AttentionSizes sizes;
  OnnxAttentionOptions options;
  // float32, with the axes that the node has; key and value with the past,
  // (B, Hkv, Lkv, D).
  Array query;
  Array key;
  Array value;

  std::size_t bytes() const {
    return query.data.size() + key.data.size() + value.data.size() +
           options.bytes();
  }
};

// Copies the tensors, in the memory of the node that runs. Errors:
// out_of_memory.
Result<SeenAttention> seen_attention(
    const OnnxAttentionCall& call, const std::optional<OnnxAttentionMask>& mask,
    const Array& query, const Array& key, const Array& value);

}  // namespace headwise::inline HEADWISE_ABI
