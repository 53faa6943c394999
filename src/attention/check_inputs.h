// Whether the tensors of a call fit what it was planned for.
#pragma once

#include <string_view>

#include "attention/inputs.h"
#include "headwise/base/result.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// `operation` begins the messages. Errors: shape_mismatch; those of
// Offsets::check, which may have moved, and out_of_range for a sequence longer
// than the plan's.
template <class T>
Status check_inputs(const AttentionShape& shape,
                    const AttentionInputsOf<T>& inputs,
                    std::string_view operation);

}  // namespace headwise::inline HEADWISE_ABI
