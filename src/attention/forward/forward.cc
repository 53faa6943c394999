#include "headwise/attention/forward.h"

#include "attention/planned_call.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {

Status attention(TensorView<const float, 4> query,
                 TensorView<const float, 4> key,
                 TensorView<const float, 4> value,
                 const AttentionOutputs& outputs,
                 const AttentionOptions& options,
                 const OperationOptions& operation_options) try {
  const auto shape =
      attention_shape(query.extents(), key.extents(), value.extents());
  HEADWISE_TRY(shape);
  const auto call = PlannedCall::create(*shape, options, operation_options);
  HEADWISE_TRY(call);
  return call->run({query, key, value}, outputs);
} catch (...) {
  return caught_out_of_memory();
}

Status attention(TensorView<const float, 4> query,
                 TensorView<const float, 4> key,
                 TensorView<const float, 4> value, TensorView<float, 4> output,
                 const AttentionOptions& options,
                 const OperationOptions& operation_options) {
  return attention(query, key, value, AttentionOutputs{.output = output},
                   options, operation_options);
}

Status attention(TensorView<const float, 3> query,
                 TensorView<const float, 3> key,
                 TensorView<const float, 3> value, TensorView<float, 3> output,
                 const AttentionOptions& options,
                 const OperationOptions& operation_options) {
  return attention(as_batch_of_one(query), as_batch_of_one(key),
                   as_batch_of_one(value), as_batch_of_one(output), options,
                   operation_options);
}

}  // namespace headwise::inline HEADWISE_ABI
