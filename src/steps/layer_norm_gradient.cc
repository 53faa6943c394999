#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/kernels/targets.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/offsets.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"
#include "steps/feature_rows.h"
#include "steps/layer_norm_terms.h"
#include "steps/token_blocks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "layer_norm_backward";
// This many blocks are computed in parallel, then their sums are added in
// order.
constexpr std::size_t kBlocksAtOnce = 256;

Status check_rows(const TensorView<const float, 2>& x,
                  const TensorView<const float, 2>& d_y,
                  const TensorView<float, 2>& d_x,
                  TensorView<const std::int64_t, 1> offsets) {
  HEADWISE_TRY(check_feature_rows(kOperation, "x", x, x.extents()));
  HEADWISE_TRY(check_feature_rows(kOperation, "d_y", d_y, x.extents()));
  HEADWISE_TRY(check_feature_rows(kOperation, "d_x", d_x, x.extents()));
  HEADWISE_TRY(check_in_place(kOperation, "d_x", d_x, {{"d_y", d_y}}));
  HEADWISE_TRY(check_overlap(kOperation, {{"d_x", Footprint(d_x)}},
                             {{"x", Footprint(x)}}));
  const std::size_t N = x.extent(0);
  return offsets.data() == nullptr ? ok()
                                   : Offsets(offsets).check(N, N, kOperation);
}

Result<Tensor<TokenBlock, 1>> list_blocks(
    std::size_t N, TensorView<const std::int64_t, 1> offsets) {
  std::size_t count = 0;
  for_each_token_block(1, N, offsets, [&](const TokenBlock&) { ++count; });
  auto blocks = Tensor<TokenBlock, 1>::create_unset({count});
  if (blocks) {
    TokenBlock* next = blocks->data();
    for_each_token_block(1, N, offsets,
                         [&](const TokenBlock& block) { *next++ = block; });
  }
  return blocks;
}

// The gradient of one parameter, and the sums of the blocks to be added to it.
class ParameterSum {
 public:
  static Result<ParameterSum> create(std::size_t blocks, std::size_t E) {
    auto total = Tensor<float, 1>::create({E});
    auto of_block = Tensor<float, 2>::create_unset({blocks, E});
    HEADWISE_TRY(total);
    HEADWISE_TRY(of_block);
    return ParameterSum(*std::move(total), *std::move(of_block));
  }

  // A block's sum (E), still 0.
  float* begin_block(std::size_t place) {
    float* sum = &of_block_(place, 0);
    std::fill_n(sum, total_.size(), 0.0f);
    return sum;
  }

  void add_blocks(std::size_t count, const Executor& executor) {
    constexpr std::size_t kFeaturesAtLeast = 64;
    const auto add = [&](std::size_t begin, std::size_t end) {
      const FloatEnvironment environment;
      for (std::size_t place = 0; place < count; ++place) {
        for (std::size_t e = begin; e < end; ++e) {
          total_(e) += of_block_(place, e);
        }
      }
    };
    executor.parallel_for(total_.size(), kFeaturesAtLeast, add);
  }

  Tensor<float, 1> total() && {
    for (float& x : total_.elements()) {
      x = std::isnan(x) ? kNaN : x;
    }
    return std::move(total_);
  }

 private:
  ParameterSum(Tensor<float, 1> total, Tensor<float, 2> of_block)
      : total_(std::move(total)), of_block_(std::move(of_block)) {}

  Tensor<float, 1> total_;     // (E)
  Tensor<float, 2> of_block_;  // (blocks, E)
};

}  // namespace

Result<LayerNormGradients> layer_norm_backward(
    TensorView<const float, 2> x, const LayerNormParams& params,
    TensorView<const float, 2> d_y, TensorView<float, 2> d_x,
    TensorView<const std::int64_t, 1> offsets, const Executor& executor) try {
  HEADWISE_TRY(check_rows(x, d_y, d_x, offsets));
  const auto [N, E] = x.extents();
  const auto terms = layer_norm_terms(kOperation, params, E);
  HEADWISE_TRY(terms);
  HEADWISE_TRY(check_target());
  if (E == 0) {
    return LayerNormGradients{};
  }
  const auto blocks = list_blocks(N, offsets);
  HEADWISE_TRY(blocks);
  const std::size_t at_once = std::min(blocks->size(), kBlocksAtOnce);
  auto weight = ParameterSum::create(at_once, E);
  auto bias = ParameterSum::create(at_once, E);
  HEADWISE_TRY(weight);
  HEADWISE_TRY(bias);
  const kernels::LayerNorm& kernel = kernels::layer_norm();
  for (std::size_t first = 0; first < blocks->size(); first += at_once) {
    const std::size_t count = std::min(at_once, blocks->size() - first);
    const auto compute = [&](std::size_t begin, std::size_t end) {
      const FloatEnvironment environment;
      for (std::size_t place = begin; place < end; ++place) {
        float* d_weight = weight->begin_block(place);
        float* d_bias = bias->begin_block(place);
        const TokenBlock& block = (*blocks)(first + place);
        for (std::size_t n = block.first; n < block.first + block.count; ++n) {
          kernel.gradient(*terms, &x(n, 0), &d_y(n, 0),
                          {&d_x(n, 0), d_weight, d_bias});
        }
      }
    };
    executor.parallel_for(count, 1, compute);
    weight->add_blocks(count, executor);
    bias->add_blocks(count, executor);
  }
  return LayerNormGradients{std::move(*weight).total(),
                            std::move(*bias).total()};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
