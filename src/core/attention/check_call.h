// Whether the tensors of a call fit what it was planned for. Allocates nothing
// where they do.
//
// Errors: shape_mismatch; invalid_argument for a tensor of another type, for
// one that the options do not ask for, for one that they ask for and that is
// missing, and for an output that shares memory with another tensor; of a
// ragged batch, whose offsets may have changed, those of Offsets::check, and
// out_of_range for a sequence longer than planned.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "attention/call_tensors.h"
#include "base/untyped_view.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

struct CallArgument {
  CallTensor tensor;
  bool optional;  // of an input
  UntypedView view;
};

struct CallTypes {
  DType of_call;
  DType of_sums;
};
template <class T>
constexpr CallTypes call_types() {
  return {DTypeOf<T>::value, DTypeOf<SumOf<T>>::value};
}

Status check_call(std::string_view operation, const AttentionSpec& spec,
                  const CallTypes& types, std::span<const CallArgument> inputs,
                  std::span<const CallArgument> outputs);

}  // namespace headwise::inline HEADWISE_ABI

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The same over a cache, whose tokens were checked already. The outputs share
// no memory with what is appended either.
Status check_cached_call(std::string_view operation, const AttentionSpec& spec,
                         const CallTypes& types,
                         std::span<const CallArgument> inputs,
                         std::span<const CallArgument> appended,
                         std::span<const CallArgument> outputs);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

// Whether no sequence is longer than those of `shape`. Errors: out_of_range.
Status check_longest(std::string_view operation, const AttentionShape& shape,
                     const Offsets& offsets);

// The bias as a view; no view if there is none.
inline TensorView<const float, 4> view_of(const BoundBias& bias) {
  return bias.given() ? TensorView<const float, 4>(bias.data(), bias.extents(),
                                                   bias.strides())
                      : TensorView<const float, 4>();
}

// The outputs of a forward call, in either form (attention/call_views.h).
template <class Outputs>
std::array<CallArgument, 13> output_arguments(const Outputs& outputs,
                                              const UntypedView& output) {
  const StatisticsViews& statistics = outputs.statistics;
  return {{
      {CallTensor::output, false, output},
      {CallTensor::attn_weights, false, outputs.attn_weights},
      {CallTensor::lse, false, outputs.lse},
      {CallTensor::softmax_rows, false, outputs.softmax_rows},
      {CallTensor::rows, false, statistics.rows},
      {CallTensor::top_keys, false, statistics.top_keys},
      {CallTensor::top_weights, false, statistics.top_weights},
      {CallTensor::columns, false, statistics.columns},
      {CallTensor::map_mean, false, statistics.map_mean},
      {CallTensor::map_largest, false, statistics.map_largest},
      {CallTensor::scores, false, outputs.scores},
      {CallTensor::state_rows, false, outputs.state.softmax_rows},
      {CallTensor::state_context, false, outputs.state.context},
  }};
}

template <class T>
Status check_forward(const AttentionSpec& spec,
                     const AttentionInputsOf<T>& inputs,
                     const AttentionOutputsOf<T>& outputs) {
  using enum CallTensor;
  const std::array<CallArgument, 10> read = {{
      {query, false, inputs.query},
      {key, false, inputs.key},
      {value, false, inputs.value},
      {score_weight, true, spec.score_weight},
      {bias, true, view_of(spec.bias)},
      {t5_bias, true, spec.t5_bias.table()},
      {alibi, true, spec.alibi.slopes()},
      {bias_k, true, spec.added_keys.bias_k()},
      {bias_v, true, spec.added_keys.bias_v()},
      {sinks, true, spec.sinks.view()},
  }};
  return check_call("attention", spec, call_types<T>(), read,
                    output_arguments(outputs, outputs.output));
}

template <class T>
Status check_backward(const AttentionSpec& spec,
                      const BackwardInputsOf<T>& inputs,
                      const AttentionGradientsOf<T>& gradients) {
  using enum CallTensor;
  const std::array<CallArgument, 15> read = {{
      {query, false, inputs.query},
      {key, false, inputs.key},
      {value, false, inputs.value},
      {saved_output, false, inputs.output},
      {saved_rows, false, inputs.softmax_rows},
      {d_output, false, inputs.d_output},
      {d_attn_weights, true, inputs.d_attn_weights},
      {score_weight, true, spec.score_weight},
      {bias, true, view_of(spec.bias)},
      {t5_bias, true, spec.t5_bias.table()},
      {alibi, true, spec.alibi.slopes()},
      {bias_k, true, spec.added_keys.bias_k()},
      {bias_v, true, spec.added_keys.bias_v()},
      {sinks, true, spec.sinks.view()},
      {state_d_bias, true, gradients.state.bias},
  }};
  const std::array<CallArgument, 15> written = {{
      {d_query, false, gradients.query},
      {d_key, false, gradients.key},
      {d_value, false, gradients.value},
      {d_bias, false, gradients.bias},
      {d_t5_bias, false, gradients.t5_bias},
      {d_alibi, false, gradients.alibi},
      {d_score_weight, false, gradients.score_weight},
      {d_sinks, false, gradients.sinks},
      {d_bias_k, false, gradients.bias_k},
      {d_bias_v, false, gradients.bias_v},
      {state_d_query, false, gradients.state.query},
      {state_d_key, false, gradients.state.key},
      {state_d_value, false, gradients.state.value},
      {state_d_alibi, false, gradients.state.alibi},
      {state_d_sinks, false, gradients.state.sinks},
  }};
  return check_call("attention_backward", spec, call_types<T>(), read, written);
}

// The spec of a backward call, once its tensors are found to fit it. Errors:
// those of AttentionSpec::create() too; invalid_argument for statistics;
// unsupported for a gradient that a part does not have; invalid_argument for a
// d_alibi of the last part without its state.
template <class T>
Result<AttentionSpec> backward_spec(const BackwardInputsOf<T>& inputs,
                                    const AttentionGradientsOf<T>& gradients,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options);

}  // namespace headwise::inline HEADWISE_ABI
