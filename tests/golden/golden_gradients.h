// The gradients of a golden's case: of sum(output * grad_output) by everything
// that the case names as grad_NAME.
#pragma once

#include <string>

#include "golden/golden_case.h"
#include "golden/golden_run.h"
#include "headwise/attention/spec.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise::testing_support {

// How the case calls what the layer read.
struct LayerNames {
  std::string prefix;  // of "q", "k", "v" and `out`
  std::string out;
  std::string query;
  std::string key;
  std::string value;
};

// Adds the gradients of one call of the layer to `to`, and returns those of its
// inputs.
MultiHeadAttentionGradients add_layer_gradients(
    const GoldenCase& golden, const MultiHeadAttention& layer,
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    const LayerNames& names, Computed& to);

// The same of the operation: grad_q, grad_k, grad_v, which are (B, H, L, D)
// where `heads_first`, as grad_output then is.
void add_operation_gradients(const GoldenCase& golden,
                             TensorView<const float, 4> query,
                             TensorView<const float, 4> key,
                             TensorView<const float, 4> value,
                             const AttentionOptions& options, bool heads_first,
                             Computed& to);

}  // namespace headwise::testing_support
