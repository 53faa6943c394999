#include "steps/projection_gradient.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "headwise/steps/projection.h"
#include "kernels/gemm.h"
#include "kernels/pair_gemm.h"
#include "kernels/pair_tile.h"
#include "run/float_environment.h"
#include "steps/one_nan.h"
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
// what a projection sums over, d_y is its input and x its parameters. In
// bfloat16 both are rounded in pairs of tokens.
class WeightGradient {
 public:
  static Result<WeightGradient> create(std::size_t in, RowRange outputs,
                                       Arithmetic arithmetic,
                                       const Executor& executor) {
    const std::size_t out = outputs.count;
    HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create({out, in}));
    HEADWISE_ASSIGN(auto strips,
                    Tensor<float, 2>::create_unset(
                        {kernels::count_strips(in), strip_size(kTokenBlock)}));
    HEADWISE_ASSIGN(auto turned,
                    Tensor<float, 2>::create_unset({out, kTokenBlock}));
    return WeightGradient(outputs, arithmetic, executor, std::move(weight),
                          std::move(strips), std::move(turned));
  }

  // A block of tokens.
  void add(const ProjectionTerms& block) {
    if (weight_.size() == 0) {
      return;
    }
    const auto [tokens, in] = block.x.extents();
    for (std::size_t t = 0; t < tokens; ++t) {
      live_[t] = is_live(block.d_y, t);
    }
    spread(kernels::count_strips(in),
           [&](std::size_t strip) { pack_strip(block.x, strip); });
    const std::size_t out = outputs_.count;
    spread((out + kTaskCopies - 1) / kTaskCopies, [&](std::size_t part) {
      turn(block.d_y, part * kTaskCopies,
           std::min(out, (part + 1) * kTaskCopies));
    });
    spread((out + kTaskRows - 1) / kTaskRows, [&, tokens = tokens](
                                                  std::size_t part) {
      multiply(tokens, part * kTaskRows, std::min(out, (part + 1) * kTaskRows));
    });
  }

  Tensor<float, 2> weight() && {
    unify_nans(weight_.elements());
    return std::move(weight_);
  }

 private:
  WeightGradient(RowRange outputs, Arithmetic arithmetic,
                 const Executor& executor, Tensor<float, 2> weight,
                 Tensor<float, 2> strips, Tensor<float, 2> turned)
      : outputs_(outputs),
        in_pairs_(arithmetic == Arithmetic::bf16),
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

  static bool is_live(TensorView<const float, 2> d_y, std::size_t t) {
    for (std::size_t o = 0; o < d_y.extent(1); ++o) {
      if (d_y(t, o) != 0) {
        return true;
      }
    }
    return false;
  }

  // Elements of a block's strips and of its turned rows.
  std::size_t elements(std::size_t tokens) const {
    return in_pairs_ ? kernels::count_pairs(tokens) : tokens;
  }

  void pack_strip(TensorView<const float, 2> x, std::size_t strip) {
    const std::size_t tokens = x.extent(0);
    float* const to = strips_.data() + strip * strip_size(elements(tokens));
    if (!in_pairs_) {
      fill_strip(x, strip, to);
      return;
    }
    alignas(64) std::array<float, strip_size(kTokenBlock)> exact;
    fill_strip(x, strip, exact.data());
    kernels::pair_strips(exact.data(), tokens, kStripFeatures, to);
  }

  // The x of a token that is left out counts as 0.
  void fill_strip(TensorView<const float, 2> x, std::size_t strip,
                  float* to) const {
    const auto [tokens, in] = x.extents();
    const std::size_t first = strip * kStripFeatures;
    const std::size_t features = std::min(kStripFeatures, in - first);
    std::fill_n(to, kStripFeatures, 0.0f);
    for (std::size_t t = 0; t < tokens; ++t) {
      to += kStripFeatures;
      std::fill_n(to, kStripFeatures, 0.0f);
      for (std::size_t f = 0; live_[t] && f < features; ++f) {
        to[f] = x(t, first + f);
      }
    }
  }

  void turn(TensorView<const float, 2> d_y, std::size_t begin,
            std::size_t end) {
    if (!in_pairs_) {
      copy_turned(d_y, begin, end, &turned_(begin, 0));
      return;
    }
    std::array<float, kTaskCopies * kTokenBlock> exact;
    copy_turned(d_y, begin, end, exact.data());
    const auto round = kernels::pair_tile().pack_keys;
    for (std::size_t o = begin; o < end; ++o) {
      const float* const row = &exact[(o - begin) * kTokenBlock];
      round(kernels::Rows<const float>{row, 1, 0, 1}, d_y.extent(0),
            &turned_(o, 0));
    }
  }

  // d_y of the outputs [begin, end), to rows of kTokenBlock.
  void copy_turned(TensorView<const float, 2> d_y, std::size_t begin,
                   std::size_t end, float* to) const {
    for (std::size_t t = 0; t < d_y.extent(0); ++t) {
      for (std::size_t o = begin; o < end; ++o) {
        to[(o - begin) * kTokenBlock + t] = d_y(t, outputs_.first + o);
      }
    }
  }

  void multiply(std::size_t tokens, std::size_t begin, std::size_t end) {
    std::array<const float*, kTaskRows> rows{};
    std::array<float*, kTaskRows> sums{};
    for (std::size_t o = begin; o < end; ++o) {
      rows[o - begin] = &turned_(o, 0);
      sums[o - begin] = &weight_(o, 0);
    }
    const kernels::Gemm& gemm =
        in_pairs_ ? kernels::pair_gemm() : kernels::gemm();
    gemm.add({rows.data(), 1, sums.data(), end - begin}, strips_.data(),
             elements(tokens), weight_.extent(1));
  }

  RowRange outputs_;
  bool in_pairs_;
  const Executor* executor_;
  Tensor<float, 2> weight_;
  Tensor<float, 2> strips_;  // x: (strips, tokens, 16), as a projection's
  Tensor<float, 2> turned_;  // d_y: (outputs, tokens)
  std::array<bool, kTokenBlock> live_{};
};

// The rows [first, first + count) of sequence b.
TensorView<const float, 2> gradient_rows(TensorView<const float, 3> x,
                                         std::size_t b, std::size_t first,
                                         std::size_t count) {
  const float* const data = x.size() == 0 ? x.data() : &x(b, first, 0);
  return {data, {count, x.extent(2)}, {x.stride(1), x.stride(2)}};
}

ProjectionTerms gradient_rows(const ProjectionTerms& terms, std::size_t first,
                              std::size_t count) {
  const auto cut = [&](TensorView<const float, 2> x) {
    return TensorView<const float, 2>(x.size() == 0 ? x.data() : &x(first, 0),
                                      {count, x.extent(1)},
                                      {x.stride(0), x.stride(1)});
  };
  return {cut(terms.x), cut(terms.d_y)};
}

// Calls add(block) for each block of each sequence.
template <class Add>
void for_each_block(std::span<const ProjectionTerms> sequences,
                    const Add& add) {
  for (const ProjectionTerms& sequence : sequences) {
    const std::size_t tokens = sequence.d_y.extent(0);
    for (std::size_t first = 0; first < tokens; first += kTokenBlock) {
      add(gradient_rows(sequence, first,
                        std::min(kTokenBlock, tokens - first)));
    }
  }
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

std::vector<ProjectionTerms> projection_terms(
    TensorView<const float, 3> x, TensorView<const float, 3> d_y,
    TensorView<const std::int64_t, 1> offsets) {
  std::vector<ProjectionTerms> sequences;
  const bool ragged = offsets.data() != nullptr;
  const std::size_t L = x.extent(1);
  const std::size_t count = ragged   ? offsets.extent(0) - 1
                            : L == 0 ? 0
                                     : x.extent(0);
  for (std::size_t n = 0; n < count; ++n) {
    const auto first = ragged ? static_cast<std::size_t>(offsets(n)) : 0;
    const auto end = ragged ? static_cast<std::size_t>(offsets(n + 1)) : L;
    const std::size_t b = ragged ? 0 : n;
    if (first != end) {
      sequences.push_back({gradient_rows(x, b, first, end - first),
                           gradient_rows(d_y, b, first, end - first)});
    }
  }
  return sequences;
}

Result<Tensor<float, 2>> projection_weight_gradient(
    std::span<const ProjectionTerms> sequences, std::size_t in_features,
    RowRange outputs, Arithmetic arithmetic, const Executor& executor) {
  HEADWISE_ASSIGN(auto weight, WeightGradient::create(in_features, outputs,
                                                      arithmetic, executor));
  for_each_block(sequences,
                 [&](const ProjectionTerms& block) { weight.add(block); });
  return std::move(weight).weight();
}

Result<Tensor<float, 1>> projection_bias_gradient(
    std::span<const ProjectionTerms> sequences, RowRange outputs) {
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({outputs.count}));
  HEADWISE_ASSIGN(auto sum, Tensor<float, 1>::create_unset({outputs.count}));
  const FloatEnvironment environment;
  for_each_block(sequences, [&](const ProjectionTerms& block) {
    std::ranges::fill(sum.elements(), 0.0f);
    for (std::size_t t = 0; t < block.d_y.extent(0); ++t) {
      for (std::size_t o = 0; o < outputs.count; ++o) {
        sum(o) += block.d_y(t, outputs.first + o);
      }
    }
    for (std::size_t o = 0; o < outputs.count; ++o) {
      bias(o) += sum(o);
    }
  });
  unify_nans(bias.elements());
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
  // Of the transposed weight only the shape is used, and the strips.
  auto transposed =
      Tensor<float, 2>::create_unset({in_features(), out_features()});
  const bool in_pairs = arithmetic_ == Arithmetic::bf16;
  auto strips = Tensor<float, 1>::create_unset(
      {kernels::count_strips(in_features()) *
       (in_pairs ? kernels::pair_strip_size(out_features())
                 : strip_size(out_features()))});
  HEADWISE_TRY(transposed);
  HEADWISE_TRY(strips);
  const auto pack = in_pairs ? kernels::pack_transposed_pair_strips
                             : kernels::pack_transposed_strips;
  pack(weight_.data(), in_features(), out_features(), strips->data());
  Linear backwards(*std::move(transposed), {}, *std::move(strips));
  backwards.arithmetic_ = arithmetic_;
  return backwards.forward(d_y, name, executor);
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
  const auto sequences = projection_terms(x, d_y, offsets);
  HEADWISE_ASSIGN(auto weight, projection_weight_gradient(
                                   sequences, in_features(),
                                   {0, out_features()}, arithmetic_, executor));
  HEADWISE_ASSIGN(auto bias,
                  projection_bias_gradient(
                      sequences, {0, has_bias() ? out_features() : 0}));
  return LinearGradients{std::move(weight), std::move(bias)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
