// The bits of layer normalisation are those of docs/arithmetic.md, on every
// instruction set that this machine has.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>

#include "headwise/steps/layer_norm.h"
#include "kernels/encoder_contract.h"
#include "support/checksum.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

LayerNormParams params_of(std::size_t E) {
  return {uniform<1>({E}, 31, 0.5, 1.5), uniform<1>({E}, 32)};
}

Tensor<float, 2> layer_norm_of(const Tensor<float, 2>& x,
                               const LayerNormParams& params) {
  auto y = filled<float, 2>(x.extents(), -7);
  EXPECT_TRUE(layer_norm(x.view(), params, y.view()));
  return y;
}

Tensor<float, 2> sum_of(const Tensor<float, 2>& a, const Tensor<float, 2>& b) {
  auto sum = clone(a);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum.data()[i] += b.data()[i];
  }
  return sum;
}

class LayerNormContractTest : public TargetTest {};

TEST_P(LayerNormContractTest, HoldsForEverySizeAroundTheSixteenSums) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const LayerNormParams params = params_of(E);
    const auto x = uniform<2>({3, E}, 33);
    EXPECT_TRUE(same_bits(layer_norm_of(x, params),
                          contract_layer_norm(x.view(), params)))
        << E << " elements";
  }
}

TEST_P(LayerNormContractTest, HoldsForTheSizesOfModels) {
  for (const std::size_t E : {128u, 312u, 384u, 768u, 1024u, 4099u}) {
    const LayerNormParams params = params_of(E);
    const auto x = uniform<2>({7, E}, 34, -3, 5);
    EXPECT_TRUE(same_bits(layer_norm_of(x, params),
                          contract_layer_norm(x.view(), params)))
        << E << " elements";
  }
}

TEST_P(LayerNormContractTest, HoldsForNumbersOfEverySize) {
  LayerNormParams params = params_of(83);
  params.bias = filled<float, 1>({83}, 0);  // nothing drowns in it
  for (const double range : {1e-38, 1e-20, 1e-6, 1e5, 1e18, 1e20, 3e38}) {
    const auto x = uniform<2>({5, 83}, 35, -range, range);
    EXPECT_TRUE(same_bits(layer_norm_of(x, params),
                          contract_layer_norm(x.view(), params)))
        << "range " << range;
  }
}

TEST_P(LayerNormContractTest, HoldsWithNaNsAndInfinities) {
  LayerNormParams params = params_of(53);
  auto x = uniform<2>({9, 53}, 36);
  x(1, 0) = -kNaN;
  x(3, 52) = kNaN;
  x(5, 17) = kInfinity;
  x(7, 0) = -kInfinity;
  x(7, 30) = kInfinity;
  params.weight(3) = kInfinity;
  params.bias(50) = -kNaN;
  EXPECT_TRUE(same_bits(layer_norm_of(x, params),
                        contract_layer_norm(x.view(), params)));
}

TEST_P(LayerNormContractTest, HoldsForTheSumWithAResidualInPlaceOrNot) {
  for (const std::size_t E : {1u, 5u, 16u, 47u, 384u}) {
    const LayerNormParams params = params_of(E);
    const auto x = uniform<2>({4, E}, 37);
    const auto residual = uniform<2>({4, E}, 38, -2, 2);
    const auto want = contract_layer_norm(view_of(sum_of(x, residual)), params);
    auto apart = filled<float, 2>({4, E}, -7);
    auto in_x = clone(x);
    auto in_residual = clone(residual);
    EXPECT_TRUE(
        add_layer_norm(x.view(), residual.view(), params, apart.view()));
    EXPECT_TRUE(
        add_layer_norm(in_x.view(), residual.view(), params, in_x.view()));
    EXPECT_TRUE(add_layer_norm(x.view(), in_residual.view(), params,
                               in_residual.view()));
    EXPECT_TRUE(same_bits(apart, want)) << E << " elements";
    EXPECT_TRUE(same_bits(in_x, want)) << E << " elements, y is x";
    EXPECT_TRUE(same_bits(in_residual, want))
        << E << " elements, y is residual";
  }
}

// They change only when docs/arithmetic.md does.
TEST_P(LayerNormContractTest, ItsBitsAreTheseEverywhere) {
  const LayerNormParams params = params_of(389);
  Checksum checksum;
  for (const double range : {2e-38, 1.0, 1e6, 3e38}) {
    checksum.add(layer_norm_of(uniform<2>({11, 389}, 39, -range, range), params)
                     .elements());
  }
  EXPECT_EQ(checksum.value(), 0x8438fc85f22424de);
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerNormContractTest,
                         testing::ValuesIn(targets()), target_name);

}  // namespace
}  // namespace headwise::testing_support
