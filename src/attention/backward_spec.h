// The meaning of a backward call, once its tensors are found to fit it.
#pragma once

#include "headwise/attention/backward.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: those of AttentionSpec::create() and check_inputs(); shape_mismatch,
// invalid_argument for a gradient of what was not given, and for one in the
// memory of something else.
template <class T>
Result<AttentionSpec> backward_spec(const BackwardInputsOf<T>& inputs,
                                    const AttentionGradientsOf<T>& gradients,
                                    const AttentionOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
