// Layers for tests: made, called and compared.
#pragma once

#include <gtest/gtest.h>

#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline MultiHeadAttention layer_of(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{7}).value();
}

// Self-attention.
inline MultiHeadAttentionResult<3> forward_of(
    const MultiHeadAttention& layer, const Tensor<float, 3>& x,
    const AttentionOptions& options = {}, TraceSink* trace = nullptr) {
  return layer.forward(x.view(), x.view(), x.view(), options, trace).value();
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
  if (!a.params() || !b.params() ||
      a.params()->w_o.has_value() != b.params()->w_o.has_value()) {
    return testing::AssertionFailure() << "not the same parameters";
  }
  for (const auto member :
       {&MultiHeadAttentionParams::w_q, &MultiHeadAttentionParams::w_k,
        &MultiHeadAttentionParams::w_v}) {
    if (auto r = same_params((*a.params()).*member, (*b.params()).*member);
        !r) {
      return r;
    }
  }
  if (!a.params()->w_o) {
    return testing::AssertionSuccess();
  }
  return same_params(*a.params()->w_o, *b.params()->w_o);
}

}  // namespace headwise::testing_support
