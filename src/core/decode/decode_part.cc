#include "decode/decode_part.h"

#include <array>

#include "decode/decode_kernel.h"
#include "headwise/decode/decode_plan.h"

namespace headwise::internal::inline HEADWISE_ABI {

std::size_t DecodePart::workspace_bytes(const AttentionSpec& spec) {
  return decode_workspace_bytes(spec, DecodePlan::state_of(cache_),
                                spec.shape.Lq);
}

void DecodePart::attend(const AttentionSpec& spec,
                        const NumberView<const void>& query,
                        const CallOutputs& outputs, Workspace& workspace) {
  CallInputs inputs(AttentionInputsOf<float>{});
  inputs.query = query;
  const std::array ids = {id_};
  decode_kernel(
      {spec, DecodePlan::state_of(cache_), ids, inputs, outputs, first_head_},
      workspace.data());
}

}  // namespace headwise::internal::inline HEADWISE_ABI
