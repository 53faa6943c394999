// Calls of attention with options of every kind, and heads that share keys
// evenly and unevenly, with their attention weights in binary64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention/attention_call.h"
#include "support/tensors.h"

namespace headwise::testing_support {

struct EveryCall {
  EveryCall(const AttentionShape& of, HeadGroups kv_groups)
      : shape(of),
        groups(std::move(kv_groups)),
        in(random_inputs(shape, 300)),
        masks(shape, true) {
    shape.kv_groups = groups;
  }

  // Without the mean of the weights, which no statistics go with.
  std::vector<OptionsCase> cases() const {
    std::vector<OptionsCase> all;
    for (OptionsCase& c : every_options(masks)) {
      if (c.options.attn_weights != AttnWeights::mean) {
        c.operation_options.kv_groups = groups;
        all.push_back(std::move(c));
      }
    }
    return all;
  }
  // Of the weights alone, as they are without dropout.
  std::vector<OptionsCase> cases_of_weights() const {
    std::vector<OptionsCase> all = cases();
    for (OptionsCase& c : all) {
      c.options.dropout = {};
      c.options.empty_rows = EmptyRow::zero;
      c.options.attn_weights = AttnWeights::none;
      c.options.scores = ScoresStage::none;
    }
    return all;
  }
  // (B, Hq, Lq, Lkv + added keys), before dropout.
  Tensor<double, 4> weights(const OptionsCase& c) const {
    AttentionOptions options = c.options;
    options.attn_weights = AttnWeights::per_head;
    options.scores = ScoresStage::none;
    options.empty_rows = EmptyRow::zero;
    return reference(widened(in), options, c.operation_options).attn_weights;
  }

  AttentionShape shape;
  HeadGroups groups;
  Inputs<float> in;
  EveryMask masks;
};

// `square`: as many queries as keys.
inline std::vector<EveryCall> every_call(bool square = false) {
  const std::size_t few = square ? 7 : 5;
  const std::size_t many = square ? 140 : 50;
  std::vector<EveryCall> calls;
  calls.emplace_back(
      AttentionShape{
          .B = 2, .Hq = 4, .Hkv = 2, .Lq = few, .Lkv = 7, .D = 8, .Dv = 6},
      HeadGroups());
  calls.emplace_back(
      AttentionShape{
          .B = 1, .Hq = 5, .Hkv = 2, .Lq = many, .Lkv = 140, .D = 8, .Dv = 9},
      groups_of({4, 1}));
  return calls;
}

// Where the sequences of a ragged batch begin, and end; one is empty.
inline const std::vector<std::int64_t> kOffsets = {0, 60, 60, 190, 200};

// The rows of a sequence of it, as a batch of one.
inline TensorView<const float, 4> sequence_of(const Tensor<float, 4>& all,
                                              std::size_t s) {
  const auto first = static_cast<std::size_t>(kOffsets[s]);
  const auto end = static_cast<std::size_t>(kOffsets[s + 1]);
  const auto [B, L, H, D] = all.extents();
  return {all.data() + first * H * D, {1, end - first, H, D}};
}

}  // namespace headwise::testing_support
