// The sequences of a ragged batch one by one, each as a batch of one: for what
// is computed of a padded batch.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

struct OneSequence {
  std::size_t number;
  SequencePlace place;
  AttentionInputsOf<float> heads;
  const AttentionOptions& options;
  const OperationOptions& operation_options;
};

// The sizes of a call and its checked options. Errors: those of
// AttentionSpec::create().
Result<AttentionSpec> spec_of(std::string_view operation,
                              const AttentionInputsOf<float>& heads,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options);

// Some rows of (1, rows, H, D).
TensorView<const float, 4> rows_of(TensorView<const float, 4> heads,
                                   std::size_t first, std::size_t count);

// Calls see() for each sequence, in order; an error of it ends that. Statistics
// are left out. Errors: those of spec_of(); unsupported for
// batched queries (Offsets::with_batched_queries()); out_of_memory.
Status for_each_sequence(std::string_view operation,
                         const AttentionInputsOf<float>& heads,
                         const AttentionOptions& options,
                         const OperationOptions& operation_options,
                         FunctionRef<Status(const OneSequence&)> see);

}  // namespace headwise::inline HEADWISE_ABI
