// The input attn_mask of ONNX's Attention: booleans (true attends) or numbers
// that are added to the scores, with one to four axes that are aligned with the
// last ones of (B, Hq, Lq, Lkv).
//
// From opset 24 on the last axis may be shorter than the keys; no query attends
// to keys beyond it. In opset 23 it has 1 or Lkv elements.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/named_axes.h"
#include "onnx/attention_call.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

struct OnnxAttentionMask {
  std::array<std::size_t, 4> extents{1, 1, 1, 1};  // 1: broadcast
  // One of them, with all keys: -inf or false beyond a short mask.
  std::optional<std::vector<double>> numbers;
  std::optional<std::vector<std::uint8_t>> booleans;

  // Nothing without a mask.
  static Result<std::optional<OnnxAttentionMask>> create(
      const NodeCall& node, const AttentionSizes& sizes);

  std::size_t offset(std::size_t b, std::size_t h, std::size_t i,
                     std::size_t j) const;
  // The axes for headwise's masks and biases.
  NamedAxes axes() const;
};

}  // namespace headwise::inline HEADWISE_ABI
