// ONNX's Attention as the standard's steps, each rounded to the type of the
// node: scale Q and K by the square root of the scale, multiply, cap, add the
// mask, softmax in its own precision, round, multiply by V.
//
// For float16, bfloat16 and float64, and for a softmax of 16 bits. It holds a
// row of scores at a time.
#pragma once

#include <optional>

#include "headwise/interop/array.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"

namespace headwise::inline HEADWISE_ABI {

// `scores`: null unless qk_matmul_output is wanted.
void attend_in_steps(const OnnxAttentionCall& call,
                     const std::optional<OnnxAttentionMask>& mask,
                     const Array& query, const Array& key, const Array& value,
                     Array& output, Array* scores);

}  // namespace headwise::inline HEADWISE_ABI
