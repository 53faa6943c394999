// Layers for tests: made, called and compared.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline MultiHeadAttention layer_of(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{7}).value();
}

// Self-attention.
inline MultiHeadAttentionResult<3> forward_of(
    const MultiHeadAttention& layer, const Tensor<float, 3>& x,
    const AttentionOptions& options = {},
    const LayerOptions& layer_options = {}, TraceSink* trace = nullptr) {
  return layer
      .forward(x.view(), x.view(), x.view(), options, layer_options, trace)
      .value();
}

inline testing::AssertionResult same_params(const Linear& a, const Linear& b) {
  if (a.weight().extents() != b.weight().extents() ||
      a.has_bias() != b.has_bias()) {
    return testing::AssertionFailure() << "the sizes differ";
  }
  if (a.has_bias() && !same_bits({a.bias().data(), a.bias().size()},
                                 {b.bias().data(), b.bias().size()})) {
    return testing::AssertionFailure() << "the biases differ";
  }
  return same_bits({a.weight().data(), a.weight().size()},
                   {b.weight().data(), b.weight().size()});
}
inline testing::AssertionResult same_params(const MultiHeadAttention& a,
                                            const MultiHeadAttention& b) {
  if (!a.params() || !b.params()) {
    return testing::AssertionFailure() << "not the same parameters";
  }
  for (const auto member :
       {&MultiHeadAttentionParams::w_q, &MultiHeadAttentionParams::w_k}) {
    if (auto r = same_params((*a.params()).*member, (*b.params()).*member);
        !r) {
      return r;
    }
  }
  for (const auto member :
       {&MultiHeadAttentionParams::w_v, &MultiHeadAttentionParams::w_o}) {
    const std::optional<Linear>& of_a = (*a.params()).*member;
    const std::optional<Linear>& of_b = (*b.params()).*member;
    if (of_a.has_value() != of_b.has_value()) {
      return testing::AssertionFailure() << "not the same parameters";
    }
    if (of_a) {
      if (auto r = same_params(*of_a, *of_b); !r) {
        return r;
      }
    }
  }
  const auto& w_a = a.params()->w_score;
  const auto& w_b = b.params()->w_score;
  if (w_a.has_value() != w_b.has_value()) {
    return testing::AssertionFailure() << "not the same parameters";
  }
  return w_a ? same_bits(*w_a, *w_b) : testing::AssertionSuccess();
}

}  // namespace headwise::testing_support
