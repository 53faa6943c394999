// A call of ONNX's Attention as the options of attention().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/steps/named_axes.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"

namespace headwise::inline HEADWISE_ABI {

// The lowest bias whose product with log2(e) is finite. Exporters fill with
// lower numbers instead of -inf; a row of them attends uniformly.
inline constexpr float kLowestBias = -2e38F;
// A number of a mask as a bias: at least kLowestBias, or -inf.
float clamped_bias(double number);

class OnnxAttentionOptions {
 public:
  OnnxAttentionOptions(const OnnxAttentionCall& call,
                       const std::optional<OnnxAttentionMask>& mask);

  // They look into this object, and stay valid when it is moved.
  AttentionOptions options() const;
  // Compares the results of options().
  bool equals(const OnnxAttentionOptions& other) const;
  bool relates_positions() const;
  // Of the mask, which this object keeps.
  std::size_t bytes() const {
    return boolean_count_ * sizeof(bool) + bias_.size() * sizeof(float);
  }

 private:
  OnnxAttentionCall call_;
  // Of the mask: booleans, or else a bias.
  NamedAxes axes_;
  std::unique_ptr<bool[]> booleans_;
  std::size_t boolean_count_ = 0;
  std::vector<float> bias_;
};

}  // namespace headwise::inline HEADWISE_ABI
