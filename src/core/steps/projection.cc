#include "headwise/steps/projection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/base/checked_product.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"
#include "kernels/gemm.h"
#include "kernels/narrow.h"
#include "kernels/pair_gemm.h"
#include "steps/project.h"
#include "steps/widen.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Whoever multiplies one row reads all of it, so that memory decides.
Result<Tensor<float, 1>> packed_memory(std::size_t size) {
  auto packed = Tensor<float, 1>::create_unset({size});
  if (packed) {
    prefer_large_pages(packed->data(), size * sizeof(float));
  }
  return packed;
}

}  // namespace

Result<Linear> Linear::create(const LinearConfig& config,
                              const RandomStream& random) try {
  HEADWISE_TRY(check_at_least_one("linear", "in_features", config.in_features));
  HEADWISE_TRY(
      check_at_least_one("linear", "out_features", config.out_features));
  HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create(
                                   {config.out_features, config.in_features}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create(
                                 {config.bias ? config.out_features : 0}));
  const double bound = 1 / std::sqrt(static_cast<double>(config.in_features));
  random.fill_uniform(weight.elements(), -bound, bound);
  random.substream(1).fill_uniform(bias.elements(), -bound, bound);
  return pack(std::move(weight), std::move(bias));
} catch (...) {
  return caught_out_of_memory();
}

Result<Linear> Linear::from_params(Tensor<float, 2> weight,
                                   Tensor<float, 1> bias) try {
  if (weight.extent(0) == 0 && weight.extent(1) == 0) {
    return value_error("linear", "weight", "of shape (0, 0)",
                       "in_features or out_features of at least 1");
  }
  if (bias.size() != 0) {
    HEADWISE_TRY(check_shape("linear", "bias", bias.extents(), "(out_features)",
                             {{weight.extent(0)}}));
  }
  return pack(std::move(weight), std::move(bias));
} catch (...) {
  return caught_out_of_memory();
}

namespace {

template <class T>
Result<Linear> from_halves(TensorView<const T, 2> weight,
                           TensorView<const T, 1> bias) {
  const Executor& executor = Executor::default_executor();
  HEADWISE_ASSIGN(auto wide_weight, widen(as_batch_of_one(weight), executor));
  HEADWISE_ASSIGN(auto wide_bias,
                  widen(as_batch_of_one(as_batch_of_one(bias)), executor));
  return Linear::from_params(
      (std::move(wide_weight)).without_batch(),
      (std::move(wide_bias)).without_batch().without_batch());
}

}  // namespace

Result<Linear> Linear::from_params(TensorView<const BFloat16, 2> weight,
                                   TensorView<const BFloat16, 1> bias) try {
  return from_halves(weight, bias);
} catch (...) {
  return caught_out_of_memory();
}

Result<Linear> Linear::from_params(TensorView<const Float16, 2> weight,
                                   TensorView<const Float16, 1> bias) try {
  return from_halves(weight, bias);
} catch (...) {
  return caught_out_of_memory();
}

Result<Linear> Linear::pack(Tensor<float, 2> weight, Tensor<float, 1> bias) {
  const auto [out, in] = weight.extents();
  const auto size = checked_product(
      std::array{kernels::count_strips(out), 1 + in, kernels::kStripFeatures});
  HEADWISE_ASSIGN(auto packed, packed_memory(size.value_or(~std::size_t{0})));
  Linear linear(std::move(weight), std::move(bias), std::move(packed));
  linear.pack_given();
  return linear;
}

Result<Linear> Linear::from_rows(
    const LinearConfig& config, Tensor<float, 1> bias, Arithmetic arithmetic,
    FunctionRef<Status(std::size_t first, TensorView<float, 2> rows)> fill,
    const Executor& executor) try {
  const std::size_t in = config.in_features;
  const std::size_t out = config.out_features;
  const bool has_bias = config.bias;
  HEADWISE_TRY(check_shape("linear", "bias", bias.extents(), "(out_features)",
                           {{has_bias ? out : 0}}));
  const bool in_pairs = arithmetic == Arithmetic::bf16;
  if (in_pairs) {
    HEADWISE_TRY(check_target());
    HEADWISE_TRY(kernels::check_narrow(true));
  }
  const std::size_t strips = kernels::count_strips(out);
  const std::size_t strip_size =
      in_pairs ? kernels::pair_strip_size(in) : kernels::strip_size(in);
  const auto size = checked_product(std::array{strips, strip_size});
  HEADWISE_ASSIGN(auto packed, packed_memory(size.value_or(~std::size_t{0})));
  const auto pack = in_pairs ? kernels::pack_pair_strips : kernels::pack_strips;
  std::vector<Status> of_strips(strips);
  executor.parallel_for(strips, 1, [&](std::size_t begin, std::size_t end) {
    auto rows = Tensor<float, 2>::create_unset({kernels::kStripFeatures, in});
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t first = n * kernels::kStripFeatures;
      const std::size_t count = std::min(kernels::kStripFeatures, out - first);
      of_strips[n] = rows ? fill(first, {rows->data(), {count, in}})
                          : Status(rows.error());
      if (of_strips[n]) {
        pack(rows->data(), has_bias ? bias.data() + first : nullptr, in, count,
             packed.data() + n * strip_size);
      }
    }
  });
  for (const Status& s : of_strips) {
    HEADWISE_TRY(s);
  }
  Linear linear({}, {}, std::move(packed));
  linear.features_ = {out, in};
  linear.has_bias_ = has_bias;
  linear.is_given_ = false;
  linear.arithmetic_ = arithmetic;
  return linear;
} catch (...) {
  return caught_out_of_memory();
}

Linear Linear::for_inference() && {
  weight_ = {};
  bias_ = {};
  is_given_ = false;
  return std::move(*this);
}

Result<Linear> Linear::in_bf16() const try {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(kernels::check_narrow(true));
  if (arithmetic_ == Arithmetic::bf16) {
    return with_packed(packed_.clone(), arithmetic_);
  }
  HEADWISE_ASSIGN(auto packed,
                  packed_memory(kernels::count_strips(out_features()) *
                                kernels::pair_strip_size(in_features())));
  kernels::pair_strips(packed_.data(), in_features(), out_features(),
                       packed.data());
  return with_packed(std::move(packed), Arithmetic::bf16);
} catch (...) {
  return caught_out_of_memory();
}

Result<Linear> Linear::in_float32() const try {
  if (arithmetic_ == Arithmetic::exact) {
    return with_packed(packed_.clone(), arithmetic_);
  }
  HEADWISE_TRY(check_given());
  HEADWISE_ASSIGN(auto packed,
                  packed_memory(kernels::count_strips(out_features()) *
                                kernels::strip_size(in_features())));
  auto linear = with_packed(std::move(packed), Arithmetic::exact);
  if (linear) {
    linear->pack_given();
  }
  return linear;
} catch (...) {
  return caught_out_of_memory();
}

Result<Linear> Linear::with_packed(Result<Tensor<float, 1>> packed,
                                   Arithmetic arithmetic) const {
  auto weight = weight_.clone();
  auto bias = bias_.clone();
  HEADWISE_TRY(packed);
  HEADWISE_TRY(weight);
  HEADWISE_TRY(bias);
  Linear linear(*std::move(weight), *std::move(bias), *std::move(packed));
  linear.features_ = features_;
  linear.has_bias_ = has_bias_;
  linear.is_given_ = is_given_;
  linear.arithmetic_ = arithmetic;
  return linear;
}

void Linear::pack_given() {
  const auto pack = arithmetic_ == Arithmetic::bf16 ? kernels::pack_pair_strips
                                                    : kernels::pack_strips;
  pack(weight_.data(), has_bias() ? bias_.data() : nullptr, in_features(),
       out_features(), packed_.data());
}

Status Linear::check_given() const {
  if (is_given_) {
    return ok();
  }
  return Error{ErrorCode::unsupported,
               ErrorDetails{.operation = "linear",
                            .given = "the parameters were kept for inference",
                            .expected = "a layer that can be trained"}};
}

void Linear::update(
    FunctionRef<void(std::span<float>, std::span<float>)> change) {
  // Packs what `change` wrote, also when it throws.
  struct PackAtEnd {
    Linear& linear;
    ~PackAtEnd() {
      if (linear.is_given_) {
        linear.pack_given();
      }
    }
  };
  const PackAtEnd pack_at_end{*this};
  change(weight_.elements(), bias_.elements());
}

Status Linear::forward_into(TensorView<const float, 3> x,
                            TensorView<float, 3> y, std::string_view name,
                            const Executor& executor) const try {
  const auto [B, L, features] = x.extents();
  if (features != in_features()) {
    return shape_error("linear", name, x.extents(), "(B, L, in_features)",
                       {{B, L, in_features()}});
  }
  HEADWISE_TRY(check_shape("linear", "y", y.extents(), "(B, L, out_features)",
                           {{B, L, out_features()}}));
  if (y.stride(2) != 1) {
    return value_error("linear", "y", "strided", "features side by side");
  }
  HEADWISE_TRY(
      check_overlap("linear", {{"y", Footprint(y)}}, {{name, Footprint(x)}}));
  HEADWISE_TRY(check_target());
  return project(x, std::array{Projection{this, y}}, {}, executor);
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 3>> Linear::forward(TensorView<const float, 3> x,
                                         std::string_view name,
                                         const Executor& executor) const try {
  const auto [B, L, features] = x.extents();
  HEADWISE_ASSIGN(auto y,
                  Tensor<float, 3>::create_unset({B, L, out_features()}));
  prefer_large_pages(y.data(), y.size() * sizeof(float));
  HEADWISE_TRY(forward_into(x, y, name, executor));
  return y;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
