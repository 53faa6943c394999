// The arithmetic of attention/reference.h, for a call that was checked.
#pragma once

#include "attention/inputs.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// Throws std::bad_alloc when a row's scratch memory cannot be had.
template <class T>
void reference_rows(const AttentionSpec& spec,
                    const AttentionInputsOf<T>& inputs,
                    const AttentionOutputsOf<T>& outputs);

}  // namespace headwise::inline HEADWISE_ABI
