// The kernel without vector instructions: the reference in binary32.
#include <new>

#include "attention/kernel.h"

namespace headwise {

Status forward_kernel(const AttentionSpec& spec,
                      const AttentionInputsOf<float>& inputs,
                      const AttentionOutputs& outputs) {
  try {
    reference_rows<float>(spec, inputs, outputs);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "attention: a row of scores needs more memory than there is"};
  }
  return ok();
}

}  // namespace headwise
