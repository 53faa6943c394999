// Whether the tensors of a backward call fit its options.
#pragma once

#include "headwise/attention/backward.h"
#include "headwise/base/result.h"

namespace headwise {

// Errors: those of check_inputs(); shape_mismatch, invalid_argument for a
// gradient of what was not given.
template <class T>
Status check_gradients(const AttentionSpec& spec,
                       const BackwardInputsOf<T>& inputs,
                       const AttentionGradientsOf<T>& gradients);

}  // namespace headwise
