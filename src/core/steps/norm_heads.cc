#include "headwise/steps/norm_heads.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "kernels/layer_norm.h"
#include "run/float_environment.h"
#include "steps/layer_norm_terms.h"
#include "steps/norm_gradient.h"
#include "steps/norm_params.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Each row of (B, L, rows, E) is normalised by itself.
template <class T>
TensorView<T, 4> head_rows(const TensorView<T, 4>& x, NormOver over) {
  const auto [B, L, H, D] = x.extents();
  return over == NormOver::projection
             ? TensorView<T, 4>(x.data(), {B, L, 1, H * D},
                                {x.stride(0), x.stride(1), 0, 1})
             : x;
}

// The parameters as the kernel takes them.
struct RowParams {
  Tensor<float, 1> weight;
  Tensor<float, 1> bias;
  kernels::LayerNormTerms terms{};  // of the first row
  std::size_t step = 0;  // from one row's parameters to those of the next
};

Status check_normed_axes(std::string_view operation, std::string_view name,
                         const TensorView<const float, 4>& x, NormOver over) {
  const auto [B, L, H, D] = x.extents();
  if (D > 1 && x.stride(3) != 1) {
    return argument_error(operation, name,
                          message("has stride {} on its axis D", x.stride(3)),
                          "1");
  }
  if (over == NormOver::projection && H > 1 &&
      x.stride(2) != static_cast<std::ptrdiff_t>(D)) {
    return argument_error(operation, name,
                          message("has stride {} on its axis H", x.stride(2)),
                          message("D = {} for a norm over the projection", D));
  }
  return ok();
}

Status check_params(std::string_view operation, const QkNorm& norm,
                    const HeadNormParams& params, std::size_t H,
                    std::size_t D) {
  const std::size_t count = norm_params(norm.over, H, D);
  const std::string_view axes = norm.over == NormOver::head ? "(D)" : "(H * D)";
  HEADWISE_TRY(check_shape(operation, "weight", params.weight.extents(), axes,
                           {{count}}));
  if (params.bias.size() == 0) {
    return ok();
  }
  if (norm.kind == NormKind::rms) {
    return value_error(operation, "bias", "given", "none in an RMS norm");
  }
  return check_shape(operation, "bias", params.bias.extents(), axes, {{count}});
}

Result<RowParams> row_params(std::string_view operation, const QkNorm& norm,
                             const HeadNormParams& params, std::size_t H,
                             std::size_t D) {
  HEADWISE_TRY(check_params(operation, norm, params, H, D));
  HEADWISE_TRY(check_norm_eps(operation, norm.eps));
  const std::size_t count = params.weight.size();
  HEADWISE_ASSIGN(auto weight,
                  Tensor<float, 1>::create({norm.plus_one ? count : 0}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create(
                                 {params.bias.size() == 0 ? count : 0}));
  const FloatEnvironment environment;
  for (std::size_t n = 0; n < weight.size(); ++n) {
    weight(n) = 1 + params.weight(n);
  }
  RowParams made{std::move(weight), std::move(bias)};
  made.terms = {norm.plus_one ? made.weight.data() : params.weight.data(),
                made.bias.size() != 0 ? made.bias.data() : params.bias.data(),
                static_cast<float>(norm.eps),
                norm.over == NormOver::projection ? H * D : D,
                norm.kind == NormKind::layer};
  made.step = norm.over == NormOver::each_head ? D : 0;
  return made;
}

Status check_like_x(std::string_view operation, std::string_view name,
                    const TensorView<const float, 4>& given, NormOver over,
                    const Extents<4>& expected) {
  HEADWISE_TRY(
      check_shape(operation, name, given.extents(), "(B, L, H, D)", expected));
  return check_normed_axes(operation, name, given, over);
}

// The rows of one token.
void normalize_token(const kernels::LayerNorm& kernel, const RowParams& params,
                     const TensorView<const float, 4>& x,
                     const TensorView<float, 4>& y, std::size_t b,
                     std::size_t l) {
  kernels::LayerNormTerms terms = params.terms;
  for (std::size_t h = 0; h < x.extent(2); ++h) {
    kernel.row(terms, &x(b, l, h, 0), nullptr, &y(b, l, h, 0));
    terms.weight += params.step;
    terms.bias += params.step;
  }
}

}  // namespace

std::size_t norm_params(NormOver over, std::size_t H, std::size_t D) {
  return over == NormOver::head ? D : H * D;
}

Status norm_heads(const QkNorm& norm, const HeadNormParams& params,
                  TensorView<const float, 4> x, TensorView<float, 4> y,
                  const Executor& executor) try {
  constexpr std::string_view kOperation = "norm_heads";
  const auto [B, L, H, D] = x.extents();
  HEADWISE_ASSIGN(const auto of_rows,
                  row_params(kOperation, norm, params, H, D));
  HEADWISE_TRY(check_like_x(kOperation, "x", x, norm.over, x.extents()));
  HEADWISE_TRY(check_like_x(kOperation, "y", y, norm.over, x.extents()));
  HEADWISE_TRY(check_in_place(kOperation, "y", y, {{"x", x}}));
  HEADWISE_TRY(check_target());
  if (x.size() == 0) {
    return ok();
  }
  constexpr std::size_t kElementsAtLeast = 16384;  // less is not worth a thread
  const auto from = head_rows(x, norm.over);
  const auto to = head_rows(y, norm.over);
  const kernels::LayerNorm& kernel = kernels::layer_norm();
  executor.parallel_for(
      B * L, std::max<std::size_t>(1, kElementsAtLeast / (H * D)),
      [&, length = L](std::size_t begin, std::size_t end) {
        const FloatEnvironment environment;
        for (std::size_t n = begin; n < end; ++n) {
          normalize_token(kernel, of_rows, from, to, n / length, n % length);
        }
      });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<HeadNormGradients> norm_heads_backward(
    const QkNorm& norm, const HeadNormParams& params,
    TensorView<const float, 4> x, TensorView<const float, 4> d_y,
    TensorView<float, 4> d_x, TensorView<const std::int64_t, 1> offsets,
    const Executor& executor) try {
  constexpr std::string_view kOperation = "norm_heads_backward";
  const auto [B, L, H, D] = x.extents();
  HEADWISE_ASSIGN(const auto of_rows,
                  row_params(kOperation, norm, params, H, D));
  HEADWISE_TRY(check_like_x(kOperation, "x", x, norm.over, x.extents()));
  HEADWISE_TRY(check_like_x(kOperation, "d_y", d_y, norm.over, x.extents()));
  HEADWISE_TRY(check_like_x(kOperation, "d_x", d_x, norm.over, x.extents()));
  HEADWISE_TRY(check_in_place(kOperation, "d_x", d_x, {{"d_y", d_y}}));
  HEADWISE_TRY(check_overlap(kOperation, {{"d_x", Footprint(d_x)}},
                             {{"x", Footprint(x)}}));
  HEADWISE_TRY(check_token_offsets(kOperation, B, L, offsets));
  HEADWISE_TRY(check_target());
  HEADWISE_ASSIGN(
      auto gradients,
      differentiate_norm(of_rows.terms, norm.over == NormOver::each_head,
                         {head_rows(x, norm.over), head_rows(d_y, norm.over),
                          head_rows(d_x, norm.over), offsets},
                         executor));
  HeadNormGradients of_params{std::move(gradients.weight)};
  if (params.bias.size() != 0) {
    of_params.bias = std::move(gradients.bias);
  }
  return of_params;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
