#include "headwise/steps/gelu.h"

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "kernels/gelu.h"
#include "steps/feature_rows.h"

namespace headwise::inline HEADWISE_ABI {

Status gelu(TensorView<const float, 2> x, TensorView<float, 2> y,
            const Executor& executor) try {
  HEADWISE_TRY(check_feature_rows("gelu", "x", x, x.extents()));
  HEADWISE_TRY(check_feature_rows("gelu", "y", y, x.extents()));
  HEADWISE_TRY(check_in_place("gelu", "y", y, {{"x", x}}));
  HEADWISE_TRY(check_target());
  const kernels::Gelu& kernel = kernels::gelu();
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    kernel.elements(&x(n, 0), x.extent(1), &y(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status gelu_backward(TensorView<const float, 2> x,
                     TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
                     const Executor& executor) try {
  HEADWISE_TRY(check_feature_rows("gelu_backward", "x", x, x.extents()));
  HEADWISE_TRY(check_feature_rows("gelu_backward", "d_y", d_y, x.extents()));
  HEADWISE_TRY(check_feature_rows("gelu_backward", "d_x", d_x, x.extents()));
  HEADWISE_TRY(
      check_in_place("gelu_backward", "d_x", d_x, {{"x", x}, {"d_y", d_y}}));
  HEADWISE_TRY(check_target());
  const kernels::Gelu& kernel = kernels::gelu();
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    kernel.gradient(&x(n, 0), &d_y(n, 0), x.extent(1), &d_x(n, 0));
  });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
