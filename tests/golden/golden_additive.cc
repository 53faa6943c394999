#include "golden/golden_additive.h"

#include <optional>
#include <string>

#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/heads.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Call {
  explicit Call(const GoldenCase& golden)
      : queries(golden.floats<3>("queries")),
        keys(golden.floats<3>("keys")),
        values(golden.floats<3>("values")),
        score_weight(golden.floats<2>("w_v.weight")) {
    options.empty_rows = EmptyRow::uniform;
    options.attn_weights = AttnWeights::per_head;
    if (golden.rank("valid_lens") == 1) {
      lengths = golden.ints<1>("valid_lens");
      options.mask = key_lengths(lengths.view());
    } else {
      row_lengths = golden.ints<2>("valid_lens");
      options.mask = key_lengths(row_lengths.view());
    }
  }

  Tensor<float, 3> queries;
  Tensor<float, 3> keys;
  Tensor<float, 3> values;
  Tensor<float, 2> score_weight;
  Tensor<std::int64_t, 1> lengths;
  Tensor<std::int64_t, 2> row_lengths;
  AttentionOptions options;
};

Linear projection(const GoldenCase& golden, const std::string& name) {
  return Linear::from_params(golden.floats<2>(name + ".weight")).value();
}

// The layer, its steps and its gradients.
Computed through_layer(const GoldenCase& golden, const Call& call) {
  const auto layer = MultiHeadAttention::from_params(
                         {.w_q = projection(golden, "W_q"),
                          .w_k = projection(golden, "W_k"),
                          .w_score = call.score_weight.clone().value()},
                         1, std::nullopt, call.values.extent(2))
                         .value();
  auto saved = layer
                   .forward_for_backward(call.queries.view(), call.keys.view(),
                                         call.values.view(), call.options)
                   .value();
  RecordedTrace trace;
  (void)layer
      .forward(call.queries.view(), call.keys.view(), call.values.view(),
               call.options, {}, &trace)
      .value();
  Computed computed{"layer",
                    {{"output", got_of(saved.result().output)},
                     {"weights", got_of(saved.result().attn_weights)},
                     {"scores", got_of(*trace.find("scores"))}}};
  if (!golden.has("grad_output")) {
    return computed;
  }
  const auto d_output = golden.floats<3>("grad_output");
  const auto gradients = layer.backward(saved, d_output.view()).value();
  computed.tensors["grad_queries"] = got_of(gradients.query);
  computed.tensors["grad_keys"] = got_of(gradients.key);
  computed.tensors["grad_values"] = got_of(gradients.value);
  computed.tensors["grad_W_q.weight"] = got_of(gradients.w_q.weight);
  computed.tensors["grad_W_k.weight"] = got_of(gradients.w_k.weight);
  computed.tensors["grad_w_v.weight"] = got_of(gradients.w_score);
  return computed;
}

// Two projections, and the operation on what they give.
std::vector<Computed> through_operation(const GoldenCase& golden,
                                        const Call& call) {
  const auto q = projection(golden, "W_q").forward(call.queries.view()).value();
  const auto k = projection(golden, "W_k").forward(call.keys.view()).value();
  const auto query = split_heads(view_of(q), 1).value();
  const auto key = split_heads(view_of(k), 1).value();
  const auto value = split_heads(view_of(call.values), 1).value();
  const OperationOptions additive = {.score_weight = call.score_weight.view()};
  const auto [B, Lq, H, D] = query.extents();
  auto output = Tensor<float, 4>::create({B, Lq, H, value.extent(3)}).value();
  auto weights = Tensor<float, 4>::create({B, H, Lq, key.extent(1)}).value();
  const AttentionOutputs outputs{output.view(), weights.view()};
  std::vector<Computed> all;
  attention(query, key, value, outputs, call.options, additive).value();
  all.push_back({"operation",
                 {{"output", got_of(output)}, {"weights", got_of(weights)}}});
  reference_attention<float>(query, key, value, outputs, call.options, additive)
      .value();
  all.push_back({"reference",
                 {{"output", got_of(output)}, {"weights", got_of(weights)}}});
  return all;
}

}  // namespace

std::vector<Computed> compute_additive(const GoldenCase& golden) {
  const Call call(golden);
  std::vector<Computed> all = through_operation(golden, call);
  all.push_back(through_layer(golden, call));
  return all;
}

}  // namespace headwise::testing_support
