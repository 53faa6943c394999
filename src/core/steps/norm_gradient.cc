#include "steps/norm_gradient.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "run/float_environment.h"
#include "steps/one_nan.h"
#include "steps/token_blocks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// This many blocks are computed in parallel, then their sums are added in
// order.
constexpr std::size_t kBlocksAtOnce = 256;

Result<Tensor<TokenBlock, 1>> list_blocks(const NormedRows& rows) {
  const std::size_t B = rows.x.extent(0);
  const std::size_t L = rows.x.extent(1);
  std::size_t count = 0;
  for_each_token_block(B, L, rows.offsets, [&](const TokenBlock&) { ++count; });
  auto blocks = Tensor<TokenBlock, 1>::create_unset({count});
  if (blocks) {
    TokenBlock* next = blocks->data();
    for_each_token_block(B, L, rows.offsets,
                         [&](const TokenBlock& block) { *next++ = block; });
  }
  return blocks;
}

// The gradient of one parameter, and the sums of the blocks to be added to it.
class ParameterSum {
 public:
  static Result<ParameterSum> create(std::size_t blocks, std::size_t size) {
    HEADWISE_ASSIGN(auto total, Tensor<float, 1>::create({size}));
    HEADWISE_ASSIGN(auto of_block,
                    Tensor<float, 2>::create_unset({blocks, size}));
    return ParameterSum(std::move(total), std::move(of_block));
  }

  // A block's sum, still 0.
  float* begin_block(std::size_t place) {
    float* sum = &of_block_(place, 0);
    std::fill_n(sum, total_.size(), 0.0f);
    return sum;
  }

  void add_blocks(std::size_t count, const Executor& executor) {
    constexpr std::size_t kElementsAtLeast = 64;
    const auto add = [&](std::size_t begin, std::size_t end) {
      const FloatEnvironment environment;
      for (std::size_t place = 0; place < count; ++place) {
        for (std::size_t e = begin; e < end; ++e) {
          total_(e) += of_block_(place, e);
        }
      }
    };
    executor.parallel_for(total_.size(), kElementsAtLeast, add);
  }

  Tensor<float, 1> total() && {
    unify_nans(total_.elements());
    return std::move(total_);
  }

 private:
  ParameterSum(Tensor<float, 1> total, Tensor<float, 2> of_block)
      : total_(std::move(total)), of_block_(std::move(of_block)) {}

  Tensor<float, 1> total_;     // (parameters)
  Tensor<float, 2> of_block_;  // (blocks, parameters)
};

// The rows of one token.
struct TokenBackward {
  const kernels::LayerNorm& kernel;
  kernels::LayerNormTerms terms;
  bool own_params;
  const NormedRows& rows;

  void operator()(std::size_t b, std::size_t l, float* d_weight,
                  float* d_bias) const {
    kernels::LayerNormTerms of_row = terms;
    for (std::size_t h = 0; h < rows.x.extent(2); ++h) {
      const std::size_t first = own_params ? h * terms.E : 0;
      of_row.weight = terms.weight + first;
      kernel.gradient(
          of_row, &rows.x(b, l, h, 0), &rows.d_y(b, l, h, 0),
          {&rows.d_x(b, l, h, 0), d_weight + first, d_bias + first});
    }
  }
};

}  // namespace

Result<NormGradients> differentiate_norm(const kernels::LayerNormTerms& terms,
                                         bool own_params,
                                         const NormedRows& rows,
                                         const Executor& executor) {
  const std::size_t params = (own_params ? rows.x.extent(2) : 1) * terms.E;
  if (params == 0) {
    return NormGradients{};
  }
  HEADWISE_ASSIGN(const auto blocks, list_blocks(rows));
  const std::size_t at_once = std::min(blocks.size(), kBlocksAtOnce);
  HEADWISE_ASSIGN(auto weight, ParameterSum::create(at_once, params));
  HEADWISE_ASSIGN(auto bias, ParameterSum::create(at_once, params));
  const TokenBackward of_token{kernels::layer_norm(), terms, own_params, rows};
  for (std::size_t first = 0; first < blocks.size(); first += at_once) {
    const std::size_t count = std::min(at_once, blocks.size() - first);
    const auto compute = [&](std::size_t begin, std::size_t end) {
      const FloatEnvironment environment;
      for (std::size_t place = begin; place < end; ++place) {
        float* d_weight = weight.begin_block(place);
        float* d_bias = bias.begin_block(place);
        const TokenBlock& block = blocks(first + place);
        for (std::size_t l = block.first; l < block.first + block.count; ++l) {
          of_token(block.b, l, d_weight, d_bias);
        }
      }
    };
    executor.parallel_for(count, 1, compute);
    weight.add_blocks(count, executor);
    bias.add_blocks(count, executor);
  }
  return NormGradients{std::move(weight).total(), std::move(bias).total()};
}

}  // namespace headwise::inline HEADWISE_ABI
