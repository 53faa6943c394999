#include "headwise/steps/layer_norm.h"

#include <limits>
#include <string_view>

#include "base/check.h"
#include "headwise/kernels/targets.h"
#include "kernels/layer_norm.h"
#include "steps/feature_rows.h"

namespace headwise {
namespace {

Status check_params(std::string_view operation, const LayerNormParams& params,
                    std::size_t E) {
  if (Status s = check_shape(operation, "weight", params.weight.extents(),
                             "(E)", {{E}});
      !s) {
    return s;
  }
  if (Status s =
          check_shape(operation, "bias", params.bias.extents(), "(E)", {{E}});
      !s) {
    return s;
  }
  // A denormal number would be flushed to 0.
  if (!(params.eps >= std::numeric_limits<float>::min() &&
        params.eps <= std::numeric_limits<float>::max())) {
    return value_error(operation, "eps", number_text(params.eps),
                       "a positive binary32 number");
  }
  return ok();
}

// After the checks of x, and of a residual if there is one.
Status normalize_rows(std::string_view operation,
                      const TensorView<const float, 2>& x,
                      const TensorView<const float, 2>* residual,
                      const LayerNormParams& params,
                      const TensorView<float, 2>& y, const Executor& executor) {
  const std::size_t E = x.extent(1);
  if (Status s = check_params(operation, params, E); !s) {
    return s;
  }
  if (Status s = check_feature_rows(operation, "y", y, x.extents()); !s) {
    return s;
  }
  if (Status s = check_target(); !s) {
    return s;
  }
  const kernels::LayerNormTerms terms{params.weight.data(), params.bias.data(),
                                      static_cast<float>(params.eps), E};
  const kernels::LayerNorm& kernel = kernels::layer_norm();
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    kernel.row(terms, &x(n, 0),
               residual == nullptr ? nullptr : &(*residual)(n, 0), &y(n, 0));
  });
  return ok();
}

}  // namespace

Status layer_norm(TensorView<const float, 2> x, const LayerNormParams& params,
                  TensorView<float, 2> y, const Executor& executor) {
  if (Status s = check_feature_rows("layer_norm", "x", x, x.extents()); !s) {
    return s;
  }
  return normalize_rows("layer_norm", x, nullptr, params, y, executor);
}

Status add_layer_norm(TensorView<const float, 2> x,
                      TensorView<const float, 2> residual,
                      const LayerNormParams& params, TensorView<float, 2> y,
                      const Executor& executor) {
  if (Status s = check_feature_rows("add_layer_norm", "x", x, x.extents());
      !s) {
    return s;
  }
  if (Status s = check_feature_rows("add_layer_norm", "residual", residual,
                                    x.extents());
      !s) {
    return s;
  }
  return normalize_rows("add_layer_norm", x, &residual, params, y, executor);
}

}  // namespace headwise
