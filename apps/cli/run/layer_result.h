// What a layer of one type gives, as the files of `headwise run` hold it.
#pragma once

#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "operands.h"
#include "operation/number_type.h"
#include "run_call.h"
#include "run_gradients.h"

namespace headwise::cli {

template <class T>
Result<RunResult> run_result(MultiHeadAttentionResult<3, T> result,
                             std::vector<NamedGradient> gradients = {}) {
  HEADWISE_ASSIGN(auto output, widen<T>(std::move(result.output)));
  return RunResult{.output_by_heads = {},
                   .output = std::move(output),
                   .attn_weights = std::move(result.attn_weights),
                   .lse = std::move(result.lse),
                   .gradients = std::move(gradients),
                   .scores = std::move(result.scores)};
}

// The gradients with those of the inputs as floats.
template <class T>
Result<MultiHeadAttentionGradients> widen_gradients(
    MultiHeadAttentionGradientsOf<T> gradients) {
  HEADWISE_ASSIGN(auto wide,
                  widen<T>(Operands<T, 3>{std::move(gradients.query),
                                          std::move(gradients.key),
                                          std::move(gradients.value)}));
  MultiHeadAttentionParamGradients& of_params = gradients;
  return MultiHeadAttentionGradients{std::move(of_params),
                                     std::move(wide.query), std::move(wide.key),
                                     std::move(wide.value)};
}

// The gradient of the output in T.
template <class T>
Result<Tensor<T, 3>> d_output_in(const UpstreamFiles& files) {
  HEADWISE_ASSIGN(auto wide, to_float<3>(files.d_output, "run", "--d-output"));
  return narrow<T>(std::move(wide));
}

}  // namespace headwise::cli
