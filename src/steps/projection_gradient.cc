#include "steps/projection_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/softmax.h"
#include "kernels/gemm.h"
#include "run/float_environment.h"
#include "steps/step_checks.h"
#include "steps/token_blocks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kStripFeatures;
using kernels::strip_size;

// Output features of a task.
constexpr std::size_t kTaskRows = 48;
// Copies of a task.
constexpr std::size_t kTaskCopies = 64;

// The gradient of a weight, gathered block by block: the tokens of a block are
// what a projection sums over, d_y is its input and x its parameters.
class WeightGradient {
 public:
  static Result<WeightGradient> create(TensorView<const float, 3> x,
                                       TensorView<const float, 3> d_y,
                                       RowRange outputs,
                                       const Executor& executor) {
    const std::size_t in = x.extent(2);
    const std::size_t out = outputs.count;
    auto weight = Tensor<float, 2>::create({out, in});
    auto strips = Tensor<float, 2>::create_unset(
        {kernels::count_strips(in), strip_size(kTokenBlock)});
    auto turned = Tensor<float, 2>::create_unset({out, kTokenBlock});
    HEADWISE_TRY(weight);
    HEADWISE_TRY(strips);
    HEADWISE_TRY(turned);
    return WeightGradient(x, d_y, outputs, executor, *std::move(weight),
                          *std::move(strips), *std::move(turned));
  }

  void add(const TokenBlock& block) {
    if (weight_.size() == 0) {
      return;
    }
    for (std::size_t t = 0; t < block.count; ++t) {
      live_[t] = is_live(block.b, block.first + t);
    }
    spread(kernels::count_strips(x_.extent(2)),
           [&](std::size_t strip) { pack_strip(block, strip); });
    const std::size_t out = outputs_.count;
    spread((out + kTaskCopies - 1) / kTaskCopies, [&](std::size_t part) {
      turn(block, part * kTaskCopies, std::min(out, (part + 1) * kTaskCopies));
    });
    spread((out + kTaskRows - 1) / kTaskRows, [&](std::size_t part) {
      multiply(block, part * kTaskRows, std::min(out, (part + 1) * kTaskRows));
    });
  }

  Tensor<float, 2> weight() && {
    for (float& x : weight_.elements()) {
      x = std::isnan(x) ? kNaN : x;
    }
    return std::move(weight_);
  }

 private:
  WeightGradient(TensorView<const float, 3> x, TensorView<const float, 3> d_y,
                 RowRange outputs, const Executor& executor,
                 Tensor<float, 2> weight, Tensor<float, 2> strips,
                 Tensor<float, 2> turned)
      : x_(x),
        d_y_(d_y),
        outputs_(outputs),
        executor_(&executor),
        weight_(std::move(weight)),
        strips_(std::move(strips)),
        turned_(std::move(turned)) {}

  template <class Work>
  void spread(std::size_t tasks, const Work& work) {
    executor_->parallel_for(tasks, 1, [&](std::size_t begin, std::size_t end) {
      const FloatEnvironment environment;
      for (std::size_t n = begin; n < end; ++n) {
        work(n);
      }
    });
  }

  bool is_live(std::size_t b, std::size_t l) const {
    for (std::size_t o = 0; o < d_y_.extent(2); ++o) {
      if (d_y_(b, l, o) != 0) {
        return true;
      }
    }
    return false;
  }

  // The x of a token that is left out counts as 0.
  void pack_strip(const TokenBlock& block, std::size_t strip) {
    const std::size_t first = strip * kStripFeatures;
    const std::size_t features = std::min(kStripFeatures, x_.extent(2) - first);
    float* to = strips_.data() + strip * strip_size(block.count);
    std::fill_n(to, kStripFeatures, 0.0f);
    for (std::size_t t = 0; t < block.count; ++t) {
      to += kStripFeatures;
      std::fill_n(to, kStripFeatures, 0.0f);
      for (std::size_t f = 0; live_[t] && f < features; ++f) {
        to[f] = x_(block.b, block.first + t, first + f);
      }
    }
  }

  void turn(const TokenBlock& block, std::size_t begin, std::size_t end) {
    for (std::size_t t = 0; t < block.count; ++t) {
      for (std::size_t o = begin; o < end; ++o) {
        turned_(o, t) = d_y_(block.b, block.first + t, outputs_.first + o);
      }
    }
  }

  void multiply(const TokenBlock& block, std::size_t begin, std::size_t end) {
    std::array<const float*, kTaskRows> rows{};
    std::array<float*, kTaskRows> sums{};
    for (std::size_t o = begin; o < end; ++o) {
      rows[o - begin] = &turned_(o, 0);
      sums[o - begin] = &weight_(o, 0);
    }
    kernels::gemm().add({rows.data(), 1, sums.data(), end - begin},
                        strips_.data(), block.count, x_.extent(2));
  }

  TensorView<const float, 3> x_;
  TensorView<const float, 3> d_y_;
  RowRange outputs_;
  const Executor* executor_;
  Tensor<float, 2> weight_;
  Tensor<float, 2> strips_;  // x: (strips, tokens, 16), as a projection's
  Tensor<float, 2> turned_;  // d_y: (outputs, tokens)
  std::array<bool, kTokenBlock> live_{};
};

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Result<Tensor<float, 2>> projection_weight_gradient(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    RowRange outputs, TensorView<const std::int64_t, 1> offsets,
    const Executor& executor) {
  auto weight = WeightGradient::create(x, d_y, outputs, executor);
  HEADWISE_TRY(weight);
  for_each_token_block(x.extent(0), x.extent(1), offsets,
                       [&](const TokenBlock& block) { weight->add(block); });
  return std::move(*weight).weight();
}

Result<Tensor<float, 1>> projection_bias_gradient(
    TensorView<const float, 3> d_y, RowRange outputs,
    TensorView<const std::int64_t, 1> offsets) {
  auto bias = Tensor<float, 1>::create({outputs.count});
  HEADWISE_TRY(bias);
  const FloatEnvironment environment;
  for_each_token_block(
      d_y.extent(0), d_y.extent(1), offsets, [&](const TokenBlock& block) {
        for (std::size_t o = 0; o < outputs.count; ++o) {
          float sum = 0;
          for (std::size_t t = 0; t < block.count; ++t) {
            sum += d_y(block.b, block.first + t, outputs.first + o);
          }
          (*bias)(o) += sum;
        }
      });
  for (float& x : bias->elements()) {
    x = std::isnan(x) ? kNaN : x;
  }
  return bias;
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 3>> Linear::backward_input(TensorView<const float, 3> d_y,
                                                std::string_view name,
                                                const Executor& executor) const
    try {
  const auto [B, L, features] = d_y.extents();
  if (features != out_features()) {
    return shape_error("linear", name, d_y.extents(), "(B, L, out_features)",
                       {{B, L, out_features()}});
  }
  HEADWISE_TRY(check_given());
  auto turned = Tensor<float, 2>::create_unset({in_features(), out_features()});
  HEADWISE_TRY(turned);
  for (std::size_t o = 0; o < out_features(); ++o) {
    for (std::size_t i = 0; i < in_features(); ++i) {
      (*turned)(i, o) = weight_(o, i);
    }
  }
  const auto backwards = from_params(*std::move(turned));
  HEADWISE_TRY(backwards);
  return backwards->forward(d_y, name, executor);
} catch (...) {
  return caught_out_of_memory();
}

Result<LinearGradients> Linear::backward_params(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor) const
    try {
  const auto [B, L, features] = x.extents();
  HEADWISE_TRY(check_given());
  if (features != in_features()) {
    return shape_error("linear", "x", x.extents(), "(B, L, in_features)",
                       {{B, L, in_features()}});
  }
  HEADWISE_TRY(check_shape("linear", "d_y", d_y.extents(),
                           "(B, L, out_features)", {{B, L, out_features()}}));
  HEADWISE_TRY(check_token_offsets("linear", B, L, offsets));
  HEADWISE_TRY(check_target());
  auto weight = projection_weight_gradient(x, d_y, {0, out_features()}, offsets,
                                           executor);
  HEADWISE_TRY(weight);
  auto bias = projection_bias_gradient(
      d_y, {0, has_bias() ? out_features() : 0}, offsets);
  HEADWISE_TRY(bias);
  return LinearGradients{*std::move(weight), *std::move(bias)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
