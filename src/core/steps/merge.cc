#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/steps/heads.h"

namespace headwise::inline HEADWISE_ABI {

Result<TensorView<const float, 3>> merge_heads(
    TensorView<const float, 4> context) try {
  const auto [B, L, H, D] = context.extents();
  const auto side_by_side = static_cast<std::ptrdiff_t>(D) * context.stride(3);
  if (H > 1 && context.stride(2) != side_by_side) {
    return argument_error(
        "merge_heads", "context",
        message("has stride {} on its axis H", context.stride(2)),
        message("D times the stride of D, {}", side_by_side));
  }
  return TensorView<const float, 3>(
      context.data(), {B, L, H * D},
      {context.stride(0), context.stride(1), context.stride(3)});
} catch (...) {
  return caught_out_of_memory();
}

Tensor<float, 3> merge_heads(Tensor<float, 4>&& context) {
  const auto [B, L, H, D] = context.extents();
  return std::move(context).with_extents(Extents<3>{B, L, H * D});
}

}  // namespace headwise::inline HEADWISE_ABI
