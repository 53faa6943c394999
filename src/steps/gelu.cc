#include "headwise/steps/gelu.h"

#include "headwise/kernels/targets.h"
#include "kernels/gelu.h"
#include "steps/feature_rows.h"

namespace headwise {

Status gelu(TensorView<const float, 2> x, TensorView<float, 2> y,
            const Executor& executor) {
  if (Status s = check_feature_rows("gelu", "x", x, x.extents()); !s) {
    return s;
  }
  if (Status s = check_feature_rows("gelu", "y", y, x.extents()); !s) {
    return s;
  }
  if (Status s = check_target(); !s) {
    return s;
  }
  const kernels::Gelu& kernel = kernels::gelu();
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    kernel.elements(&x(n, 0), x.extent(1), &y(n, 0));
  });
  return ok();
}

}  // namespace headwise
