// Layers for tests: made, called and compared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline MultiHeadAttention layer_of(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{7}).value();
}

// The norms of a layer begin as ones, which no test would miss.
inline void draw_norms(MultiHeadAttention& layer) {
  std::uint32_t stream = 3900;
  const Status s =
      layer.update([&](std::string_view name, std::span<float> values) {
        if (name.substr(1).starts_with("_norm.")) {
          RandomStream(Seed{2024}, stream++).fill_uniform(values, 0.5, 1.5);
        }
        return ok();
      });
  EXPECT_TRUE(s);
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
inline testing::AssertionResult same_params(
    const std::optional<HeadNormParams>& a,
    const std::optional<HeadNormParams>& b) {
  if (a.has_value() != b.has_value()) {
    return testing::AssertionFailure() << "not the same norms";
  }
  if (!a) {
    return testing::AssertionSuccess();
  }
  const auto weight = same_bits(a->weight, b->weight);
  return weight ? same_bits(a->bias, b->bias) : weight;
}
inline testing::AssertionResult same_params(
    const std::optional<Tensor<float, 1>>& a,
    const std::optional<Tensor<float, 1>>& b) {
  if (a.has_value() != b.has_value()) {
    return testing::AssertionFailure() << "not the same added keys";
  }
  return a ? same_bits(*a, *b) : testing::AssertionSuccess();
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
  for (const auto member :
       {&MultiHeadAttentionParams::q_norm, &MultiHeadAttentionParams::k_norm}) {
    if (auto r = same_params((*a.params()).*member, (*b.params()).*member);
        !r) {
      return r;
    }
  }
  for (const auto member :
       {&MultiHeadAttentionParams::bias_k, &MultiHeadAttentionParams::bias_v}) {
    if (auto r = same_params((*a.params()).*member, (*b.params()).*member);
        !r) {
      return r;
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
