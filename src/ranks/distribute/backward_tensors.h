// The tensors that a rank passes to a backward call of all ranks.
#pragma once

#include <cstddef>
#include <string_view>

#include "distribute/rank_tensors.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The gradients of the options, which are whole on each rank that wants them.
// Errors: invalid_argument for one of an option that the call does not have;
// shape_mismatch.
Status check_option_gradients(std::string_view operation,
                              const AttentionSpec& spec,
                              const AttentionGradients& gradients);

// What no rank can have for its rows alone. Errors: unsupported.
inline Status check_no_state(std::string_view operation,
                             const GradientState& state) {
  const bool given =
      state.query.data() != nullptr || state.key.data() != nullptr ||
      state.value.data() != nullptr || state.alibi.data() != nullptr ||
      state.sinks.data() != nullptr || state.bias.data() != nullptr;
  return given ? Status(value_error(operation, "gradients.state", "given",
                                    "none in a call of several ranks",
                                    ErrorCode::unsupported))
               : ok();
}

// The gradients of the options alone.
template <class T>
AttentionGradients option_gradients(const AttentionGradientsOf<T>& gradients) {
  return {.bias = gradients.bias,
          .t5_bias = gradients.t5_bias,
          .alibi = gradients.alibi,
          .score_weight = gradients.score_weight,
          .sinks = gradients.sinks,
          .bias_k = gradients.bias_k,
          .bias_v = gradients.bias_v};
}

template <class T>
Status check_backward_tensors(std::string_view operation,
                              const AttentionSpec& spec, const Shards& shards,
                              std::size_t rank, const BackwardInputsOf<T>& own,
                              const AttentionGradientsOf<T>& gradients) {
  const AttentionShape& shape = spec.shape;
  const std::size_t queries = rows_of_rank(shards.queries, rank);
  const std::size_t keys = rows_of_rank(shards.keys, rank);
  HEADWISE_TRY(check_no_state(operation, gradients.state));
  HEADWISE_TRY(check_rank_inputs<T>(operation, shape, shards, rank,
                                    {own.query, own.key, own.value}));
  HEADWISE_TRY((check_rank_tensor<const T, 4>(
      operation, "output", own.output, "(1, queries, Hq, Dv)",
      {1, queries, shape.Hq, shape.Dv})));
  HEADWISE_TRY((check_rank_tensor<const float, 4>(
      operation, "softmax_rows", own.softmax_rows, "(1, Hq, queries, 2)",
      {1, shape.Hq, queries, 2})));
  HEADWISE_TRY((check_rank_tensor<const T, 4>(
      operation, "d_output", own.d_output, "(1, queries, Hq, Dv)",
      {1, queries, shape.Hq, shape.Dv})));
  if (gradients.query.data() != nullptr) {
    HEADWISE_TRY((check_rank_tensor<T, 4>(
        operation, "gradients.query", gradients.query, "(1, queries, Hq, D)",
        {1, queries, shape.Hq, shape.D})));
  }
  if (gradients.key.data() != nullptr) {
    HEADWISE_TRY((check_rank_tensor<T, 4>(operation, "gradients.key",
                                          gradients.key, "(1, keys, Hkv, D)",
                                          {1, keys, shape.Hkv, shape.D})));
  }
  if (gradients.value.data() != nullptr) {
    HEADWISE_TRY((check_rank_tensor<T, 4>(operation, "gradients.value",
                                          gradients.value, "(1, keys, Hkv, Dv)",
                                          {1, keys, shape.Hkv, shape.Dv})));
  }
  return check_option_gradients(operation, spec, option_gradients(gradients));
}

}  // namespace headwise::inline HEADWISE_ABI
