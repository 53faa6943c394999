#include "headwise/steps/heads.h"

#include <string>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "steps/one_nan.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T>
Result<TensorView<T, 4>> split(TensorView<T, 3> x, std::size_t num_heads) {
  const auto [B, L, features] = x.extents();
  if (num_heads == 0 || features % num_heads != 0) {
    return value_error("split_heads", "num_heads", std::to_string(num_heads),
                       message("a divisor of the features, {}", features));
  }
  const std::size_t D = features / num_heads;
  return TensorView<T, 4>(
      x.data(), {B, L, num_heads, D},
      {x.stride(0), x.stride(1), static_cast<std::ptrdiff_t>(D) * x.stride(2),
       x.stride(2)});
}

}  // namespace

Result<TensorView<const float, 4>> split_heads(TensorView<const float, 3> x,
                                               std::size_t num_heads) try {
  return split(x, num_heads);
} catch (...) {
  return caught_out_of_memory();
}

Result<TensorView<float, 4>> split_heads(TensorView<float, 3> x,
                                         std::size_t num_heads) try {
  return split(x, num_heads);
} catch (...) {
  return caught_out_of_memory();
}

Status average_heads(TensorView<const float, 4> attn_weights,
                     TensorView<float, 4> mean) try {
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  HEADWISE_TRY(check_shape("average_heads", "mean", mean.extents(),
                           "(B, 1, Lq, Lkv)", {{B, 1, Lq, Lkv}}));
  HEADWISE_TRY(check_overlap("average_heads", {{"mean", Footprint(mean)}},
                             {{"attn_weights", Footprint(attn_weights)}}));
  for (std::size_t b = 0; mean.size() != 0 && b < B; ++b) {
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        float sum = 0;
        for (std::size_t h = 0; h < H; ++h) {
          sum += attn_weights(b, h, i, j);
        }
        mean(b, 0, i, j) = one_nan(sum / static_cast<float>(H));
      }
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
