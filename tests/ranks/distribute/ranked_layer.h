// Calls of a layer by ranks, compared with one process.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/module/multi_head_attention.h"
#include "module/random_layer_call.h"

namespace headwise::testing_support {

// A call and what it is asked for. Views of the inputs, which are any type.
template <class T>
struct Whole {
  const MultiHeadAttention& layer;
  const Tensor<T, 3>& query;
  const Tensor<T, 3>& key;
  const Tensor<T, 3>& value;
  const Tensor<T, 3>& d_output;
  AttentionOptions options{};
  LayerOptions layer_options{};
};

inline Whole<float> whole_of(const MultiHeadAttention& layer,
                             const LayerCall& call,
                             const AttentionOptions& options = {},
                             const LayerOptions& layer_options = {}) {
  return {layer,         call.query, call.key,     call.value,
          call.d_output, options,    layer_options};
}

using Bytes = std::vector<std::byte>;
using Results = std::map<std::string, Bytes>;

template <class T, std::size_t Rank>
Bytes bytes_of(const Tensor<T, Rank>& tensor) {
  const auto bytes = std::as_bytes(tensor.elements());
  return {bytes.begin(), bytes.end()};
}

template <class T>
Results results_of(const MultiHeadAttentionResult<3, T>& result) {
  return {{"output", bytes_of(result.output)}, {"lse", bytes_of(result.lse)}};
}

inline void add_params(const MultiHeadAttentionParamGradients& gradients,
                       Results& results) {
  gradients.for_each([&](std::string_view name, std::span<const float> g) {
    const auto bytes = std::as_bytes(g);
    results[std::string(name)] = {bytes.begin(), bytes.end()};
  });
  results["bias"] = bytes_of(gradients.bias);
  results["t5_bias"] = bytes_of(gradients.t5_bias);
  results["alibi"] = bytes_of(gradients.alibi);
  results["sinks"] = bytes_of(gradients.sinks);
  results["head_gates"] = bytes_of(gradients.head_gates);
}

template <class T>
void add_inputs(const MultiHeadAttentionGradientsOf<T>& gradients,
                Results& results) {
  results["d_query"] = bytes_of(gradients.query);
  results["d_key"] = bytes_of(gradients.key);
  results["d_value"] = bytes_of(gradients.value);
}

template <class T>
Results by_one_process(const Whole<T>& whole) {
  auto saved = whole.layer
                   .forward_for_backward(whole.query.view(), whole.key.view(),
                                         whole.value.view(), whole.options,
                                         whole.layer_options)
                   .value();
  Results results = results_of(saved.result());
  const auto gradients =
      whole.layer.backward(saved, whole.d_output.view()).value();
  add_inputs(gradients, results);
  add_params(gradients, results);
  return results;
}

inline void expect_part(const Results& got, const Results& want,
                        const std::string& of) {
  for (const auto& [name, bytes] : got) {
    EXPECT_TRUE(bytes == want.at(name)) << name << " of " << of;
  }
}

inline const MultiHeadAttentionConfig kGrouped = {.embed_dim = 48,
                                                  .num_heads = 6,
                                                  .num_kv_heads = 3,
                                                  .query_dim = 40,
                                                  .kdim = 36,
                                                  .vdim = 20,
                                                  .head_dim = 24,
                                                  .v_head_dim = 5};

// A layer of every kind. The norm of the fifth is over each head: a layer by
// heads has no other.
inline std::vector<MultiHeadAttentionConfig> kinds_of_layers() {
  std::vector<MultiHeadAttentionConfig> kinds(9, kGrouped);
  kinds[0].bias = false;
  kinds[1].out_proj = false;
  kinds[2].value_proj = false;
  kinds[2].vdim = 15;
  kinds[3].scoring = Scoring::additive;
  kinds[4].qk_norm = {.kind = NormKind::rms};
  kinds[5].qk_norm = {
      .kind = NormKind::layer, .over = NormOver::each_head, .bias = true};
  kinds[5].rotary = Rotary::create({.rotary_dim = 24}).value();
  kinds[6].add_bias_kv = kinds[6].add_zero_attn = true;
  kinds[7].num_kv_heads = {};
  kinds[7].kv_group_sizes = {1, 3, 2};
  kinds[8].rotary = Rotary::create({.rotary_dim = 8}).value();
  kinds[8].out_proj = kinds[8].bias = false;
  kinds.push_back(kGrouped);
  kinds.back().arithmetic = Arithmetic::bf16;
  kinds.push_back(kinds[5]);
  kinds.back().arithmetic = Arithmetic::bf16;
  return kinds;
}

}  // namespace headwise::testing_support
