#include "headwise/steps/layer_norm.h"

#include <string_view>

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "kernels/layer_norm.h"
#include "steps/feature_rows.h"
#include "steps/layer_norm_terms.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// After the checks of x, and of a residual if there is one.
Status normalize_rows(std::string_view operation,
                      const TensorView<const float, 2>& x,
                      const TensorView<const float, 2>* residual,
                      const LayerNormParams& params,
                      const TensorView<float, 2>& y, const Executor& executor) {
  HEADWISE_ASSIGN(const auto terms,
                  layer_norm_terms(operation, params, x.extent(1)));
  HEADWISE_TRY(check_feature_rows(operation, "y", y, x.extents()));
  HEADWISE_TRY(check_in_place(
      operation, "y", y,
      {{"x", x}, {"residual", residual == nullptr ? x : *residual}}));
  HEADWISE_TRY(check_target());
  const kernels::LayerNorm& kernel = kernels::layer_norm();
  for_each_feature_row(executor, x.extents(), [&](std::size_t n) {
    kernel.row(terms, &x(n, 0),
               residual == nullptr ? nullptr : &(*residual)(n, 0), &y(n, 0));
  });
  return ok();
}

}  // namespace

Status layer_norm(TensorView<const float, 2> x, const LayerNormParams& params,
                  TensorView<float, 2> y, const Executor& executor) try {
  HEADWISE_TRY(check_feature_rows("layer_norm", "x", x, x.extents()));
  return normalize_rows("layer_norm", x, nullptr, params, y, executor);
} catch (...) {
  return caught_out_of_memory();
}

Status add_layer_norm(TensorView<const float, 2> x,
                      TensorView<const float, 2> residual,
                      const LayerNormParams& params, TensorView<float, 2> y,
                      const Executor& executor) try {
  HEADWISE_TRY(check_feature_rows("add_layer_norm", "x", x, x.extents()));
  HEADWISE_TRY(
      check_feature_rows("add_layer_norm", "residual", residual, x.extents()));
  return normalize_rows("add_layer_norm", x, &residual, params, y, executor);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
