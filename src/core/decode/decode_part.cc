#include "decode/decode_part.h"

#include <array>

#include "decode/decode_kernel.h"
#include "headwise/decode/decode_plan.h"

namespace headwise::internal::inline HEADWISE_ABI {

std::size_t DecodePart::workspace_bytes(const AttentionSpec& spec) {
  return decode_workspace_bytes(spec, DecodePlan::state_of(cache_),
                                spec.shape.Lq);
}

void DecodePart::attend(const AttentionSpec& spec, const CallTensors& tensors,
                        Workspace& workspace) {
  const std::array ids = {id_};
  decode_kernel({spec, DecodePlan::state_of(cache_), ids, tensors, first_head_},
                workspace.data());
}

}  // namespace headwise::internal::inline HEADWISE_ABI
